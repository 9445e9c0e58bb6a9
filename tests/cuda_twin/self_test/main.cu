#include "self_test.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

int run_child(void (*body)(void), char *text, size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  skip(); /* ThreadSanitizer takes fibers for threads, and does not follow them into a child */
#endif
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with its tests */
    body();
    exit(0);
  }
  close(ends[1]);
  size_t filled = 0;
  for (ssize_t got = 1; got > 0 && filled + 1 < bytes; filled += got > 0 ? (size_t)got : 0)
    got = read(ends[0], text + filled, bytes - 1 - filled);
  text[filled] = 0;
  close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

fixture fixture_create(size_t count) {
  fixture made = {nullptr, nullptr, nullptr, count};
  OK(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
  OK(cudaMalloc((void **)&made.device, count * sizeof(float)));
  OK(cudaMallocHost((void **)&made.pinned, count * sizeof(float)));
  return made;
}

void fixture_free(fixture *made) {
  OK(cudaFree(made->device));
  OK(cudaFreeHost(made->pinned));
  OK(cudaStreamDestroy(made->stream));
}

cudaError_t fixture_read(const fixture *made) {
  const cudaError_t error =
      cudaMemcpyAsync(made->pinned, made->device, made->count * sizeof(float), cudaMemcpyDeviceToHost, made->stream);
  return error == cudaSuccess ? cudaStreamSynchronize(made->stream) : error;
}

void expect_violation(cudaError_t got, cudaError_t error, const char *text) {
  assert_int_equal(got, error);
  assert_true(twin_violations() > 0);
  if (!strstr(twin_message(), text)) fail_msg("\"%s\" does not tell of \"%s\"", twin_message(), text);
  twin_violations_clear();
  twin_reset();
  cudaGetLastError();
}

int main(int count, char **) {
  if (count > 1) return print_environment(), 0;
  setenv("MUZERO_TWIN_DEVICES", "2", 1);
  setenv("MUZERO_TWIN_MEMORY", "67108864", 1);
  return test_kernels() + test_shared() + test_memory() + test_streams() + test_graphs() + test_devices() != 0;
}
