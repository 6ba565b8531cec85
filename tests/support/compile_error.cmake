# cmake -DCOMPILER=... -DOPTIONS=... -DINCLUDES=directory;... -DFILE=... -P compile_error.cmake
#
# FILE must not compile, and the text on its first line, after "// error: ", must stand within the
# first five lines that the compiler prints.
cmake_minimum_required(VERSION 3.25)

file(STRINGS "${FILE}" text LIMIT_COUNT 1)
if(NOT text MATCHES "^// error: (.+)$")
  message(FATAL_ERROR "${FILE}: the first line is not '// error: TEXT'")
endif()
set(text "${CMAKE_MATCH_1}")

list(TRANSFORM INCLUDES PREPEND "-I")
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${OPTIONS} ${INCLUDES} "${FILE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE}: compiles")
endif()
string(REGEX MATCH "^[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*" start "${output}")
string(FIND "${start}" "${text}" at)
if(at LESS 0)
  message(FATAL_ERROR "${FILE}: the first five lines do not say '${text}':\n${output}")
endif()
