#include "app/engine.h"

#include "app/embedded_engine.h"
#include "app/redis_engine.h"

namespace dripgate::app {

void Engine::start_lines(const std::function<LinePorts(const config::StreamSettings&)>& ports_of) {
  const LineContext context{context_.loop, context_.clock, bookings(), context_.observer};
  lines_.build(context, ports_of);
  lines_.start(context_.roles);
}

std::unique_ptr<Engine> make_engine(EngineContext context) {
  if (std::holds_alternative<config::RedisStore>(context.snapshot.get()->store)) {
    return std::make_unique<RedisEngine>(std::move(context));
  }
  return std::make_unique<EmbeddedEngine>(std::move(context));
}

}  // namespace dripgate::app
