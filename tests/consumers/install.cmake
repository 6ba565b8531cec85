# Installs, and moves what was installed: what works from there on works after a relocation.
# usage: cmake -D BUILD= -D SOURCE= -D PREFIX= -P install.cmake
cmake_minimum_required(VERSION 3.25)

set(staging "${PREFIX}-staging")
file(REMOVE_RECURSE "${staging}" "${PREFIX}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${staging}"
                COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${staging}" "${PREFIX}")

file(GLOB_RECURSE files "${PREFIX}/*")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(path IN ITEMS "${staging}" "${BUILD}" "${SOURCE}/")
    string(FIND "${text}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} has the path ${path}, which another machine has not")
    endif()
  endforeach()
endforeach()
