# Compilers, warnings, sanitizers and the third-party packages, all from Debian.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# A program that calls nothing of gRPC does not load it.
add_link_options(-Wl,--as-needed)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion
                    -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wthread-safety)
endif()

if(DRIPGATE_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(DRIPGATE_SANITIZER STREQUAL "fuzzer")
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(DRIPGATE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -g1)
  add_link_options(-fsanitize=thread)
elseif(NOT DRIPGATE_SANITIZER STREQUAL "")
  message(FATAL_ERROR "DRIPGATE_SANITIZER is '${DRIPGATE_SANITIZER}': accepted are address, fuzzer, thread or nothing")
endif()

find_package(prometheus-cpp REQUIRED)
find_package(simdjson REQUIRED)
find_package(rapidcheck REQUIRED)

find_package(Boost 1.81 REQUIRED)
# Asio and Beast are compiled once (src/net/asio_impl.cc), not in every file that includes them.
add_library(dripgate_asio INTERFACE)
target_compile_definitions(dripgate_asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
                           BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(dripgate_asio INTERFACE Boost::headers OpenSSL::SSL OpenSSL::Crypto)
if(DRIPGATE_SERVER)
  find_package(CLI11 REQUIRED)
endif()
