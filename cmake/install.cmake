# cmake --install: the library for other programs (find_package(Dripgate) -> dripgate::dripgate) and the binary.
# libdripgate.a holds every room it needs; what comes from Debian is found by DripgateConfig.cmake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_rooms base core config sqlite net redis store check render runtime embed)
foreach(room ${library_rooms})
  list(APPEND library_objects $<TARGET_OBJECTS:${room}>)
endforeach()
add_library(libdripgate STATIC ${library_objects})
set_target_properties(libdripgate PROPERTIES OUTPUT_NAME dripgate EXPORT_NAME dripgate LINKER_LANGUAGE CXX)
target_include_directories(libdripgate INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(libdripgate INTERFACE cxx_std_20)
target_link_libraries(libdripgate PRIVATE OpenSSL::SSL OpenSSL::Crypto SQLite::SQLite3 yaml-cpp absl::time hiredis
                                          Threads::Threads)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Dripgate)
install(TARGETS libdripgate EXPORT DripgateTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/dripgate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT DripgateTargets NAMESPACE dripgate:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/DripgateConfig.cmake.in ${CMAKE_BINARY_DIR}/DripgateConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/DripgateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/DripgateConfig.cmake ${CMAKE_BINARY_DIR}/DripgateConfigVersion.cmake
        DESTINATION ${package_folder})
if(TARGET dripgate)
  install(TARGETS dripgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
