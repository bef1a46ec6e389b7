// Inside of IoLoop, for the Asio files of this room only.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "http/io_loop.h"

namespace dripgate::http {

struct IoLoop::Impl {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open{context.get_executor()};
};

}  // namespace dripgate::http
