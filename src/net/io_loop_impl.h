// Inside of IoLoop, for Asio files of the rooms that place sockets on loops.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "net/io_loop.h"

namespace dripgate::net {

struct IoLoop::Impl {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open{context.get_executor()};
};

}  // namespace dripgate::net
