// A communicator whose engine is chosen at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <loadax/comm/communicator.hpp>
#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// Holds any model of Communicator, and is one itself: one virtual call for a whole operation.
/// A moved-from one throws a StateError at every call.
class AnyCommunicator {
 public:
  template <class C>
    requires(!std::same_as<C, AnyCommunicator> && Communicator<C>)
  AnyCommunicator(C communicator)  // NOLINT(google-explicit-constructor)
      : model_(std::make_unique<Model<C>>(std::move(communicator))) {}

  int rank() const { return model().rank(); }
  int size() const { return model().size(); }
  void barrier() { model().barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) { model().broadcast(bytes, root); }
  void all_gather(std::span<const std::byte> from, std::span<std::byte> to) {
    model().all_gather(from, to);
  }
  void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) {
    model().all_to_all(from, to);
  }
  void all_reduce(void* data, std::size_t count, ElementType type, ReduceOp op) {
    model().all_reduce(data, count, type, op);
  }
  void reduce_scatter(const void* from, void* to, std::size_t count, ElementType type,
                      ReduceOp op) {
    model().reduce_scatter(from, to, count, type, op);
  }
  void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
    model().exchange(outgoing, incoming);
  }
  AnyCommunicator subgroup(std::span<const int> ranks) { return model().subgroup(ranks); }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void barrier() = 0;
    virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
    virtual void all_gather(std::span<const std::byte> from, std::span<std::byte> to) = 0;
    virtual void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) = 0;
    virtual void all_reduce(void* data, std::size_t count, ElementType type, ReduceOp op) = 0;
    virtual void reduce_scatter(const void* from, void* to, std::size_t count, ElementType type,
                                ReduceOp op) = 0;
    virtual void exchange(std::span<const Outgoing> outgoing,
                          std::span<const Incoming> incoming) = 0;
    virtual AnyCommunicator subgroup(std::span<const int> ranks) = 0;
  };

  template <class C>
  struct Model final : Interface {
    explicit Model(C communicator) : comm(std::move(communicator)) {}
    int rank() const override { return comm.rank(); }
    int size() const override { return comm.size(); }
    void barrier() override { comm.barrier(); }
    void broadcast(std::span<std::byte> bytes, int root) override { comm.broadcast(bytes, root); }
    void all_gather(std::span<const std::byte> from, std::span<std::byte> to) override {
      comm.all_gather(from, to);
    }
    void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) override {
      comm.all_to_all(from, to);
    }
    void all_reduce(void* data, std::size_t count, ElementType type, ReduceOp op) override {
      comm.all_reduce(data, count, type, op);
    }
    void reduce_scatter(const void* from, void* to, std::size_t count, ElementType type,
                        ReduceOp op) override {
      comm.reduce_scatter(from, to, count, type, op);
    }
    void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
      comm.exchange(outgoing, incoming);
    }
    AnyCommunicator subgroup(std::span<const int> ranks) override { return comm.subgroup(ranks); }
    C comm;
  };

  Interface& model() const {
    if (!model_)
      throw StateError("a moved-from AnyCommunicator was used", "use the one it was moved to");
    return *model_;
  }

  std::unique_ptr<Interface> model_;
};

}  // namespace v0
}  // namespace loadax
