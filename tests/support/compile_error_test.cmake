# loadax_add_compile_error_tests(room file...)
#
# A ctest test for each file: it must not compile, and the compiler's output must match the regular
# expression on the file's first line, after "// error: ".
function(loadax_add_compile_error_tests room)
  set(includes "$<TARGET_PROPERTY:loadax_own_flags,INTERFACE_INCLUDE_DIRECTORIES>")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    file(STRINGS "${file}" first_line LIMIT_COUNT 1)
    string(REGEX REPLACE "^// error: " "" expected "${first_line}")
    add_test(NAME ${room}_must_fail_${name}
      COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only
              "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "${file}"
      COMMAND_EXPAND_LISTS)
    set_tests_properties(${room}_must_fail_${name} PROPERTIES
      PASS_REGULAR_EXPRESSION "${expected}" TIMEOUT ${LOADAX_TEST_TIMEOUT} LABELS compile_error)
  endforeach()
endfunction()
