import { MICROCREDITS } from '../../../core/money/credits.ts';
import { counter, histogram } from '../../../host/telemetry/counts.ts';

/** The labels of a lane: a selector, and the endpoint that answered for it. */
export const LANE_LABELS = ['selector', 'model', 'provider', 'upstream'];

/** The metric families that count chats. */
export type ChatFamilies = ReturnType<typeof chatFamilies>;

const LABELS = ['operation', ...LANE_LABELS];

/** The families of times, in seconds. */
const timesOf = (seriesMax: number) => ({
  duration: histogram(
    {
      name: 'signalbox_chat_duration_seconds',
      help: 'Time from admission to the end of chats that Signalbox sent to a provider.',
      labels: [...LABELS, 'outcome'],
      bounds: [0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 60, 120, 300],
    },
    seriesMax,
  ),
  ttft: histogram(
    {
      name: 'signalbox_chat_ttft_seconds',
      help: 'Time from admission to the first content, for streams.',
      labels: LABELS,
      bounds: [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60],
    },
    seriesMax,
  ),
  dispatch: histogram({
    name: 'signalbox_chat_dispatch_seconds',
    help: 'Time from admission to the first call to a provider, without the time of a payment.',
    labels: [],
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5],
  }),
});

/**
 * @param seriesMax the most series of a family by lane
 * @param keyedMax the most series of a family by lane and label of keys
 */
export function chatFamilies(seriesMax: number, keyedMax: number) {
  const countOf = (name: string, help: string, label: string, per?: number) =>
    counter({ name, help, labels: [...LABELS, label], per }, seriesMax);
  const keyed = (name: string, help: string, per?: number) =>
    counter({ name, help, labels: [...LABELS, 'outcome', 'key_label'], per }, keyedMax);
  return {
    chats: keyed('signalbox_chats_total', 'Finished chat requests, by outcome.'),
    ...timesOf(seriesMax),
    tokens: countOf('signalbox_tokens_total', 'Tokens charged, over all attempts.', 'kind'),
    // Sums are kept in microcredits, because integers are exact.
    spent: keyed('signalbox_credits_spent_total', 'Credits charged.', MICROCREDITS),
    saved: countOf(
      'signalbox_credits_saved_total',
      'Credits that requests cost less than the baseline.',
      'outcome',
      MICROCREDITS,
    ),
    overspent: countOf(
      'signalbox_credits_overspent_total',
      'Credits that requests cost more than the baseline.',
      'outcome',
      MICROCREDITS,
    ),
    capped: counter({
      name: 'signalbox_chats_capped_total',
      help: 'Chats whose output limit a fund or the maximum of the model (`model`) lowered, by how they ended.',
      labels: ['fund', 'end'],
    }),
    failovers: counter({
      name: 'signalbox_failovers_total',
      help: 'Failed attempts after which another endpoint or model was tried.',
      labels: ['provider', 'model', 'upstream', 'to'],
    }),
    leftOut: counter({
      name: 'signalbox_named_models_left_out_total',
      help: 'Requests for which a fallback was used, because the model that they name was left out before any call, by that model and the reason.',
      labels: ['model', 'reason'],
    }),
    escalations: counter({
      name: 'signalbox_escalations_total',
      help: 'Requests of conversations that a signal of failure moved to a better model, by signal.',
      labels: ['signal'],
    }),
    unescalated: counter({
      name: 'signalbox_escalations_withheld_total',
      help: 'Requests of conversations that a signal did not move, because `share_max` of their key was reached or money was short, by signal.',
      labels: ['signal'],
    }),
    guardMatches: counter({
      name: 'signalbox_guard_matches_total',
      help: 'Matches that guards found in requests and answers, by guard, side (`input`, `output`), action (`block`, `mask`, `repair`, `flag`) and kind.',
      labels: ['guard', 'side', 'action', 'kind'],
    }),
    guardFailures: counter({
      name: 'signalbox_guard_failures_total',
      help: 'Requests and answers that a guard could not inspect, because it failed or took too long.',
      labels: ['guard', 'side'],
    }),
    guardCredits: counter({
      name: 'signalbox_guard_credits_total',
      help: 'Credits that callers paid for calls of guards to models of the policy, by guard and model.',
      labels: ['guard', 'model'],
      per: 1_000_000,
    }),
    cache: counter({
      name: 'signalbox_cache_requests_total',
      help: 'Requests that the cache of the policy applies to, by result: `hit`, `miss`, and `partial` for embeddings of which the cache had some.',
      labels: ['operation', 'result'],
    }),
    promptCounts: counter({
      name: 'signalbox_prompt_counts_total',
      help: 'Requests to a provider to count the tokens of a PDF before money is held, by how they ended.',
      labels: ['provider', 'end'],
    }),
  };
}
