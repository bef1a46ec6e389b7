# Fuzz targets: tests/fuzz/NAME_target.cc becomes fuzz_NAME (libFuzzer, with the address and undefined-behaviour
# sanitizers over everything that it runs). `ninja fuzz` builds them and, of the rooms, only the pure files that they
# reach: no loop, no socket, no file.
function(dripgate_fuzz)
  foreach(folder base core config check store store/memory store/failover)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  # Bookings are no input of strangers, and compile long.
  list(FILTER sources EXCLUDE REGEX "/(core|memory)/(booking_(adapt|book|codec|cursor|gate|replay|reserve|shard|store|view)|event_table)")
  set(pure
    http/message http/problem
    render/gate_headers
    server/check_read server/check_render server/forwarded server/render
    rls/joint rls/grpc/messages
    redis/encode redis/failure redis/greeting redis/reply_reader redis/sentinel_answer redis/slot_map redis/slots
    store/redis/booking_names store/redis/booking_wire store/redis/counter_code store/redis/counter_decisions
    store/redis/counter_reply store/redis/counter_text
    broker/redis_streams/replies
    vendor/answer_reader vendor/draft_fields vendor/numbers vendor/profile vendor/wait_text)
  foreach(file ${pure})
    list(APPEND sources ${CMAKE_SOURCE_DIR}/src/${file}.cc)
  endforeach()
  get_target_property(messages rls_proto SOURCES)
  list(FILTER messages EXCLUDE REGEX "\\.grpc\\.pb\\.cc$")
  set_source_files_properties(${messages} PROPERTIES COMPILE_OPTIONS -w)
  add_library(fuzzed STATIC EXCLUDE_FROM_ALL ${sources} ${messages})
  target_include_directories(fuzzed PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_include_directories(fuzzed SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated/rls/proto)
  target_link_libraries(fuzzed PUBLIC OpenSSL::Crypto absl::inlined_vector absl::time yaml-cpp hiredis simdjson
                        nlohmann_json::nlohmann_json protobuf::libprotobuf Threads::Threads)
  add_custom_target(fuzz)
  file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_target.cc)
  foreach(target ${targets})
    get_filename_component(name ${target} NAME_WE)
    string(REGEX REPLACE "_target$" "" name ${name})
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${target})
    target_link_libraries(fuzz_${name} PRIVATE fuzzed)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz fuzz_${name})
  endforeach()
endfunction()
