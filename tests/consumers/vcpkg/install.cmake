# Runs cmake/vcpkg/portfile.cmake as vcpkg would, with what vcpkg's helpers do for such a port, and
# checks the package as vcpkg checks it.
# usage: cmake -D PORT_DIR= -D WORK_DIR= -D VERSION= -D LIBRARIES= -D GENERATOR= -D COMPILER=
#              -P install.cmake
cmake_minimum_required(VERSION 3.25)

file(READ "${PORT_DIR}/vcpkg.json" manifest)
string(JSON PORT GET "${manifest}" name)
string(JSON port_version GET "${manifest}" version)
if(NOT port_version STREQUAL VERSION)
  message(FATAL_ERROR "vcpkg.json has version ${port_version}, and the project ${VERSION}")
endif()

# The manifest's dependencies for the target are what the library links: a::b is the port a-b, or a.
set(port_needs)
string(JSON last LENGTH "${manifest}" dependencies)
math(EXPR last "${last} - 1")
foreach(i RANGE ${last})
  string(JSON kind TYPE "${manifest}" dependencies ${i})
  if(kind STREQUAL "STRING")
    string(JSON name GET "${manifest}" dependencies ${i})
    list(APPEND port_needs ${name})
  else()
    string(JSON host GET "${manifest}" dependencies ${i} host)
    string(JSON name GET "${manifest}" dependencies ${i} name)
    list(APPEND host_needs ${name})
  endif()
endforeach()
set(library_needs)
foreach(library IN LISTS LIBRARIES)
  string(TOLOWER "${library}" library)
  string(REPLACE "::" ";" port "${library}")
  list(REMOVE_DUPLICATES port)
  list(JOIN port "-" port)
  list(APPEND library_needs ${port})
endforeach()
list(REMOVE_ITEM library_needs threads) # the system's
list(SORT library_needs)
list(SORT port_needs)
if(NOT port_needs STREQUAL library_needs)
  message(FATAL_ERROR "vcpkg.json depends on ${port_needs}, and the library on ${library_needs}")
endif()

file(REMOVE_RECURSE "${WORK_DIR}")
set(TARGET_TRIPLET x64-linux)
set(CURRENT_PORT_DIR "${PORT_DIR}")
set(CURRENT_BUILDTREES_DIR "${WORK_DIR}/buildtrees/${PORT}")
set(CURRENT_PACKAGES_DIR "${WORK_DIR}/packages/${PORT}_${TARGET_TRIPLET}")
set(CURRENT_INSTALLED_DIR "${WORK_DIR}/installed/${TARGET_TRIPLET}")

# needs(port): that the helper which is called comes from a port in the manifest.
function(needs port)
  if(NOT port IN_LIST host_needs)
    message(FATAL_ERROR "vcpkg.json lacks the host dependency ${port}")
  endif()
endfunction()

# The configurations that are built, of release and debug.
function(build_types result)
  set(types release debug)
  if(DEFINED VCPKG_BUILD_TYPE)
    set(types ${VCPKG_BUILD_TYPE})
  endif()
  set(${result} ${types} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  needs(vcpkg-cmake)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "this vcpkg_cmake_configure does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  build_types(types)
  foreach(type IN LISTS types)
    set(prefix "${CURRENT_PACKAGES_DIR}")
    if(type STREQUAL "debug")
      string(APPEND prefix /debug)
    endif()
    execute_process(
      COMMAND ${CMAKE_COMMAND} -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}/${type}"
              -G "${GENERATOR}" -DCMAKE_CXX_COMPILER=${COMPILER}
              -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${prefix}
              -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_INSTALL_BINDIR:STRING=bin
              -DBUILD_SHARED_LIBS=OFF -DFETCHCONTENT_FULLY_DISCONNECTED=ON
              -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON
              -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
              -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON
              ${arg_OPTIONS}
      ERROR_VARIABLE errors
      COMMAND_ERROR_IS_FATAL ANY)
    foreach(option IN LISTS arg_OPTIONS)
      string(REGEX REPLACE "^-D([^:=]+).*" "\\1" option "${option}")
      if(errors MATCHES "not used by the project:.*[ \n]${option}[ \n]")
        message(FATAL_ERROR "the project has no option ${option}")
      endif()
    endforeach()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  needs(vcpkg-cmake)
  build_types(types)
  foreach(type IN LISTS types)
    execute_process(
      COMMAND ${CMAKE_COMMAND} --build "${CURRENT_BUILDTREES_DIR}/${type}" --target install
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

# replace(root file...): vcpkg's folders become the prefix that the file computes.
function(replace root)
  foreach(file IN LISTS ARGN)
    file(READ "${file}" text)
    string(REPLACE "${CURRENT_PACKAGES_DIR}" "${root}" text "${text}")
    string(REPLACE "${CURRENT_INSTALLED_DIR}" "${root}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_cmake_config_fixup)
  needs(vcpkg-cmake-config)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  if(arg_CONFIG_PATH)
    file(COPY "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/" DESTINATION "${share}")
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
  endif()
  build_types(types)
  if("debug" IN_LIST types)
    file(GLOB debug "${CURRENT_PACKAGES_DIR}/debug/share/${PORT}/*-debug.cmake")
    file(COPY ${debug} DESTINATION "${share}")
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/share")
  endif()
  file(GLOB files "${share}/*.cmake")
  replace("\${_IMPORT_PREFIX}" ${files})
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/*.pc")
  replace("\${prefix}" ${files})
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}"
       RENAME copyright)
endfunction()

include("${PORT_DIR}/portfile.cmake")

# What vcpkg refuses in a package.
file(GLOB top RELATIVE "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/*")
if(NOT top STREQUAL "include;share")
  message(FATAL_ERROR "a header-only package has include/ and share/, and this one ${top}")
endif()
foreach(file IN ITEMS copyright usage ${PORT}-config.cmake ${PORT}-config-version.cmake)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/${file}")
    message(FATAL_ERROR "the package has no share/${PORT}/${file}")
  endif()
endforeach()
get_filename_component(source "${PORT_DIR}/../.." ABSOLUTE)
file(GLOB_RECURSE files LIST_DIRECTORIES true "${CURRENT_PACKAGES_DIR}/*")
foreach(file IN LISTS files)
  if(IS_DIRECTORY "${file}")
    file(GLOB inside "${file}/*")
    if(NOT inside)
      message(FATAL_ERROR "empty in the package: ${file}")
    endif()
  else()
    file(READ "${file}" text)
    foreach(path IN ITEMS "${WORK_DIR}" "${source}/")
      string(FIND "${text}" "${path}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} has the absolute path ${path}")
      endif()
    endforeach()
  endif()
endforeach()

file(COPY "${CURRENT_PACKAGES_DIR}/" DESTINATION "${CURRENT_INSTALLED_DIR}")
