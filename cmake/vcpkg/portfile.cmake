# An overlay port: vcpkg install loadax --overlay-ports=<checkout>/cmake/vcpkg
#
# It builds the checkout that it lies in, not a download. vcpkg knows only this folder's files, so
# that after a change elsewhere `vcpkg remove loadax` and `--no-binarycaching` are needed. A port in
# a registry would have vcpkg_from_git() here, with an URL and a commit.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release) # header-only: nothing differs in a debug build

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DLOADAX_BUILD_TESTS=OFF
    -DLOADAX_BUILD_EXAMPLES=OFF
    -DLOADAX_BUILD_BENCHMARKS=OFF
    -DLOADAX_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_fixup_pkgconfig()

file(REMOVE "${CURRENT_PACKAGES_DIR}/share/${PORT}/LICENSE") # vcpkg's name for it is `copyright`
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
