# loadax.pc. Boost has no .pc files, so that Boost::regex is written out: its library, if it is one,
# and its folders where the compiler does not look by itself.
file(RELATIVE_PATH LOADAX_PC_TO_PREFIX
     "/prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" LOADAX_PC_TO_PREFIX "${LOADAX_PC_TO_PREFIX}")

set(LOADAX_PC_BOOST_CFLAGS)
get_target_property(LOADAX_boost_includes Boost::regex INTERFACE_INCLUDE_DIRECTORIES)
foreach(LOADAX_directory IN LISTS LOADAX_boost_includes)
  if(NOT LOADAX_directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND LOADAX_PC_BOOST_CFLAGS " -I${LOADAX_directory}")
  endif()
endforeach()

set(LOADAX_PC_BOOST_LIBS)
get_target_property(LOADAX_boost_type Boost::regex TYPE)
if(NOT LOADAX_boost_type STREQUAL "INTERFACE_LIBRARY")
  get_target_property(LOADAX_boost_file Boost::regex LOCATION)
  cmake_path(GET LOADAX_boost_file PARENT_PATH LOADAX_directory)
  if(NOT LOADAX_directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(APPEND LOADAX_PC_BOOST_LIBS " -L${LOADAX_directory}")
  endif()
  cmake_path(GET LOADAX_boost_file STEM LOADAX_boost_name)
  string(REGEX REPLACE "^lib" "" LOADAX_boost_name "${LOADAX_boost_name}")
  string(APPEND LOADAX_PC_BOOST_LIBS " -l${LOADAX_boost_name}")
endif()

configure_file("${PROJECT_SOURCE_DIR}/cmake/loadax.pc.in" "${PROJECT_BINARY_DIR}/loadax.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/loadax.pc" DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
