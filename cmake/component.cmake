# loadax_add_component(name ROOMS room... [LIBRARIES target...])
#
# An INTERFACE target `loadax_<name>`, or `loadax` for the core, with the alias `loadax::<name>`;
# its headers are the lists `LOADAX_HEADERS_<room>` of cmake/headers.cmake.
function(loadax_add_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LIBRARIES")
  set(target loadax_${name})
  if(name STREQUAL "loadax")
    set(target loadax)
  endif()

  set(headers)
  foreach(room IN LISTS arg_ROOMS)
    if(NOT DEFINED LOADAX_HEADERS_${room})
      message(FATAL_ERROR "cmake/headers.cmake has no list LOADAX_HEADERS_${room}")
    endif()
    list(APPEND headers ${LOADAX_HEADERS_${room}})
  endforeach()
  list(TRANSFORM headers PREPEND "${PROJECT_SOURCE_DIR}/include/loadax/")

  add_library(${target} INTERFACE)
  add_library(loadax::${name} ALIAS ${target})
  target_sources(${target} INTERFACE
    FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
    FILES ${headers})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})

  if(LOADAX_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS ${target} EXPORT loadax-${name}-targets
            FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT loadax-${name}-targets
            NAMESPACE loadax::
            DESTINATION ${CMAKE_INSTALL_DATADIR}/loadax)
  endif()
endfunction()
