#include "selfplay/cuda/slots.cuh"

/* A slot's thread waits for its own tree most of the time, and neighbours of a warp for each other's: few slots a block spread them over
 * the processors. */
enum { THREADS = 8 };

static __global__ void begin(mz_cuda_slots s, mz_cuda_heads heads, const unsigned char *__restrict__ questions, int rows, int n,
                             int simulations) {
  const int i = (int)mz_cuda_thread();
  if (i >= rows) return;
  if (i == 0) *s.simulations = simulations;
  if (i >= n) {
    s.simulation[i] = 0;
    s.in[i] = i * s.tree.nodes;
    s.out[i] = i * s.tree.nodes + 1;
    s.action[i] = 0;
    return;
  }
  const unsigned char *record = questions + (size_t)i * mz_cuda_question_bytes(s.tree.actions);
  const mz_cuda_question *question = (const mz_cuda_question *)record;
  const mz_scorer scorer = s.scorer;
  const mz_slot slot = mz_cuda_slot_at(s, &scorer, i);
  if (s.away != nullptr) s.away[(size_t)i * (size_t)s.tree.nodes] = false;
  mz_roots_init(&s.roots, slot, heads.policy + (size_t)i * (size_t)heads.policy_stride, heads.value[(size_t)i * MZ_LANES],
                record + sizeof *question, question->noise != 0, question->rng);
  mz_cuda_slot_select(s, slot, 1);
}

static __global__ void finish(mz_cuda_slots s, mz_cuda_heads heads, int rows) {
  const int i = (int)mz_cuda_thread();
  if (i >= rows) return;
  mz_cuda_slot_finish(s, i, heads.policy + (size_t)i * (size_t)heads.policy_stride, heads.value[(size_t)i * MZ_LANES],
                      heads.reward[(size_t)i * MZ_LANES], heads.turn == nullptr ? 0.0f : heads.turn[(size_t)i * MZ_LANES]);
}

static __global__ void report(mz_cuda_slots s, unsigned char *__restrict__ answers, int n) {
  const int i = (int)mz_cuda_thread(), actions = s.tree.actions;
  if (i >= n) return;
  mz_cuda_answer *answer = (mz_cuda_answer *)(answers + (size_t)i * mz_cuda_answer_bytes(actions));
  float *policy = (float *)(answer + 1), *prior = policy + 2 * actions;
  const mz_scorer scorer = s.scorer;
  const mz_slot slot = mz_cuda_slot_at(s, &scorer, i);
  answer->value = slot.root->value;
  answer->raw_value = slot.root->raw_value;
  answer->selected = mz_roots_result(&s.roots, slot, policy, (int32_t *)(policy + actions), prior);
}

mz_status mz_cuda_slots_begin(const mz_cuda_lane *lane, const mz_cuda_slots *slots, const mz_cuda_heads *heads,
                              const void *questions, int rows, int n, int simulations) {
  MZ_CUDA_TRY(mz_launch(begin, mz_cuda_blocks((size_t)rows, THREADS), dim3(THREADS), 0, lane->stream, *slots, *heads,
                        (const unsigned char *)questions, rows, n, simulations));
  return MZ_OK;
}

mz_status mz_cuda_slots_finish(const mz_cuda_lane *lane, const mz_cuda_slots *slots, const mz_cuda_heads *heads, int rows) {
  MZ_CUDA_TRY(mz_launch(finish, mz_cuda_blocks((size_t)rows, THREADS), dim3(THREADS), 0, lane->stream, *slots, *heads, rows));
  return MZ_OK;
}

mz_status mz_cuda_slots_answer(const mz_cuda_lane *lane, const mz_cuda_slots *slots, void *answers, int n) {
  MZ_CUDA_TRY(
      mz_launch(report, mz_cuda_blocks((size_t)n, THREADS), dim3(THREADS), 0, lane->stream, *slots, (unsigned char *)answers, n));
  return MZ_OK;
}
