// The mesh that a thread works on, for calls that do not name one.
#pragma once

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

inline thread_local const MeshContext* mesh_context = nullptr;

/// The innermost scope of this thread, or null.
inline const MeshContext* current_mesh_context() noexcept { return mesh_context; }

/// Makes a context current on this thread while it lives.
class ScopeAdoption {
 public:
  [[nodiscard]] explicit ScopeAdoption(MeshContext context)
      : context_(std::move(context)), before_(std::exchange(mesh_context, &context_)) {}
  ~ScopeAdoption() { mesh_context = before_; }
  ScopeAdoption(const ScopeAdoption&) = delete;
  ScopeAdoption& operator=(const ScopeAdoption&) = delete;

 private:
  MeshContext context_;
  const MeshContext* before_;
};

/// Threads that the library starts work in the scope of the thread that started them.
inline const bool mesh_scope_is_inherited = inherit_in_threads([]() -> AdoptThreadState {
  const MeshContext* context = current_mesh_context();
  if (!context) return {};
  return [copy = *context] { return std::make_shared<ScopeAdoption>(copy); };
});

}  // namespace detail

/// `lx::MeshScope scope{mesh};` makes a mesh current on this thread until the end of the block, as
/// Python's `with mesh:`. Scopes nest.
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
