# The package files beside the export sets that loadax_add_component installs.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/loadax-config.cmake.in"
  "${PROJECT_BINARY_DIR}/loadax-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_DATADIR}/loadax
  NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/loadax-config-version.cmake"
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(
  FILES
    "${PROJECT_BINARY_DIR}/loadax-config.cmake"
    "${PROJECT_BINARY_DIR}/loadax-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/loadax)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DATADIR}/loadax)

include(cmake/pkg_config.cmake)
