# cmake --install: the library for other programs (find_package(Dripgate) -> dripgate::dripgate) and the binary.
# libdripgate.a holds every room it needs; what comes from Debian is found by DripgateConfig.cmake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All rooms as one object that shows dripgate::v1 and nothing else: a program may use another Asio than the one inside,
# or the same one compiled otherwise. Groups of inline functions are dissolved first, or the linker would take those of
# the program for ours, which are local then.
set(library_rooms base core config sqlite net redis store check render runtime vendor embed)
foreach(room ${library_rooms})
  list(APPEND library_objects $<TARGET_OBJECTS:${room}>)
  string(APPEND library_lines "$<JOIN:$<TARGET_OBJECTS:${room}>,\n>\n")
endforeach()
find_program(LD_BFD NAMES ld.bfd REQUIRED)
set(library_object ${CMAKE_BINARY_DIR}/dripgate_v1.o)
file(GENERATE OUTPUT ${library_object}.list CONTENT "${library_lines}")
add_custom_command(
  OUTPUT ${library_object}
  COMMAND ${LD_BFD} -r --force-group-allocation -o ${library_object} @${library_object}.list
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=_ZN8dripgate2v1* --keep-global-symbol=_ZNK8dripgate2v1*
          --keep-global-symbol=_ZTIN8dripgate2v1* --keep-global-symbol=_ZTSN8dripgate2v1* ${library_object}
  DEPENDS ${library_objects} VERBATIM)
set_source_files_properties(${library_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(libdripgate STATIC ${library_object})
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
