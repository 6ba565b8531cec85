# loadax_add_compile_error_tests(room file...)
#
# A ctest test for each file, which must not compile: see compile_error.cmake.
function(loadax_add_compile_error_tests room)
  set(includes "$<TARGET_PROPERTY:loadax_own_flags,INTERFACE_INCLUDE_DIRECTORIES>")
  set(options)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # Since then, it shows the source at each line that says which call required which.
    set(options -fno-diagnostics-show-caret)
  endif()
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    add_test(NAME ${room}_must_fail_${name}
      COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DOPTIONS=${options}"
              "-DINCLUDES=${includes}" "-DFILE=${file}" -P "${PROJECT_SOURCE_DIR}/tests/support/compile_error.cmake")
    set_tests_properties(${room}_must_fail_${name} PROPERTIES
      TIMEOUT ${LOADAX_TEST_TIMEOUT} LABELS compile_error)
  endforeach()
endfunction()
