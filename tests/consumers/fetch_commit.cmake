# Configures fetch_content/ with the last commit of a checkout, however git holds it: a clone, a
# shallow one, a worktree, or another user's.
# usage: cmake -D CHECKOUT= -D WORK_DIR= -D GENERATOR= -D COMPILER= -P fetch_commit.cmake
cmake_minimum_required(VERSION 3.25)

function(skip why)
  message(NOTICE "SKIPPED: consumer_fetch_commit: ${why}")
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
find_program(git git)
if(NOT git)
  skip("git was not found")
  return()
endif()

# As if called by hand: git refuses another user's repository, and hooks name theirs to their
# children.
file(WRITE "${WORK_DIR}/gitconfig" "[safe]\n\tdirectory = *\n")
set(ENV{GIT_CONFIG_GLOBAL} "${WORK_DIR}/gitconfig")
foreach(variable IN ITEMS GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE)
  unset(ENV{${variable}})
endforeach()

execute_process(
  COMMAND "${git}" -C "${CHECKOUT}" rev-parse --verify --quiet HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(
  COMMAND "${git}" -C "${CHECKOUT}" rev-parse --show-prefix
  OUTPUT_VARIABLE inside OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit OR inside)
  skip("the source tree is not a git checkout")
  return()
endif()

execute_process(
  COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/fetch_content" -B "${WORK_DIR}/build"
          -G "${GENERATOR}" -DCMAKE_CXX_COMPILER=${COMPILER}
          -DLOADAX_CHECKOUT=${CHECKOUT} -DLOADAX_COMMIT=${commit}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND "${git}" -C "${WORK_DIR}/build/_deps/loadax-src" rev-parse HEAD
  OUTPUT_VARIABLE fetched OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT fetched STREQUAL commit)
  message(FATAL_ERROR "fetched ${fetched}, not ${commit}")
endif()
