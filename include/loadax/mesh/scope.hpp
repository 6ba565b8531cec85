// The mesh that a thread works on, for calls that do not name one.
#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include <loadax/core/error.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/mesh/mesh.hpp>

namespace loadax {
inline namespace v0 {

/// What executes for a mesh in this process (see placement/).
class Runtime;

/// A mesh in scope, with the runtime that it was entered with, if any.
struct MeshContext {
  Mesh mesh;
  std::shared_ptr<Runtime> runtime;
};

namespace detail {

/// Makes a context current on this thread while it lives. One that ends before an inner one only
/// leaves the chain.
/// @pre it ends on the thread that it began on; std::terminate otherwise
class ScopeAdoption {
 public:
  [[nodiscard]] explicit ScopeAdoption(MeshContext context)
      : context_(std::move(context)), outer_(std::exchange(innermost, this)) {}
  ~ScopeAdoption() {
    ScopeAdoption** at = &innermost;
    while (*at && *at != this) at = &(*at)->outer_;
    if (!*at) {
      std::fputs("loadax: a mesh scope ends on another thread than the one that opened it\n",
                 stderr);
      std::terminate();
    }
    *at = outer_;
  }
  ScopeAdoption(const ScopeAdoption&) = delete;
  ScopeAdoption& operator=(const ScopeAdoption&) = delete;

  /// The context of this thread's innermost scope, or null.
  static const MeshContext* current() noexcept {
    return innermost ? &innermost->context_ : nullptr;
  }

 private:
  static inline thread_local ScopeAdoption* innermost = nullptr;

  MeshContext context_;
  ScopeAdoption* outer_;
};

/// The innermost scope of this thread, or null.
inline const MeshContext* current_mesh_context() noexcept { return ScopeAdoption::current(); }

/// Threads that the library starts work in the scope of the thread that started them.
inline const bool mesh_scope_is_inherited = inherit_in_threads([]() -> AdoptThreadState {
  const MeshContext* context = current_mesh_context();
  if (!context) return {};
  return [copy = *context] { return std::make_shared<ScopeAdoption>(copy); };
});

}  // namespace detail

/// `lx::MeshScope scope{mesh};` makes a mesh current on this thread until the end of the block, as
/// Python's `with mesh:`. Scopes nest.
/// @pre it ends on the thread that opened it; std::terminate otherwise
class MeshScope {
 public:
  [[nodiscard]] explicit MeshScope(Mesh mesh, std::shared_ptr<Runtime> runtime = nullptr)
      : adoption_({std::move(mesh), std::move(runtime)}) {}

 private:
  detail::ScopeAdoption adoption_;
};

/// The mesh of the innermost scope of this thread. Valid until that scope ends.
/// @throws StateError where there is none
inline const Mesh& current_mesh() {
  if (const MeshContext* context = detail::current_mesh_context()) return context->mesh;
  throw StateError("no mesh in scope", "open one: lx::MeshScope scope{mesh};");
}

}  // namespace v0
}  // namespace loadax
