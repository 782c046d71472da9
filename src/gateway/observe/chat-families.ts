import { MICROCREDITS } from '../../core/credits.ts';
import { counter, type Histogram, histogram, type LabelledCounter } from '../../telemetry/counts.ts';

/** A selector, and the endpoint that answered for it. */
export const LANE_LABELS = ['selector', 'model', 'provider', 'upstream'];

export interface ChatFamilies {
  readonly chats: LabelledCounter;
  readonly duration: Histogram;
  readonly ttft: Histogram;
  readonly dispatch: Histogram;
  readonly tokens: LabelledCounter;
  readonly spent: LabelledCounter;
  readonly saved: LabelledCounter;
  readonly overspent: LabelledCounter;
  readonly failovers: LabelledCounter;
  readonly explored: LabelledCounter;
}

/**
 * Makes the families that chats are counted in.
 * @param seriesMax greatest number of series of a family by lane
 */
export function chatFamilies(seriesMax: number): ChatFamilies {
  const chats = counter(
    {
      name: 'signalbox_chats_total',
      help: 'Finished chat requests, by outcome.',
      labels: ['operation', ...LANE_LABELS, 'outcome'],
    },
    seriesMax,
  );
  const tokens = counter(
    {
      name: 'signalbox_tokens_total',
      help: 'Tokens charged, over all attempts. Each token counts under one kind.',
      labels: ['operation', ...LANE_LABELS, 'kind'],
    },
    seriesMax,
  );
  const failovers = counter({
    name: 'signalbox_failovers_total',
    help: 'Failed attempts followed by another endpoint or model.',
    labels: ['provider', 'model', 'upstream', 'to'],
  });
  const explored = counter({
    name: 'signalbox_explored_total',
    help: 'Chat requests sent to another model than the best, to learn.',
    labels: ['selector'],
  });
  return {
    chats,
    ...times(seriesMax),
    tokens,
    spent: credits('spent', 'Credits that were charged for chat requests.', seriesMax),
    saved: credits('saved', 'Credits that answers cost less than the baseline.', seriesMax),
    overspent: credits('overspent', 'Credits that answers cost more than the baseline.', seriesMax),
    failovers,
    explored,
  };
}

function times(seriesMax: number): Pick<ChatFamilies, 'duration' | 'ttft' | 'dispatch'> {
  const duration = histogram(
    {
      name: 'signalbox_chat_duration_seconds',
      help: 'Time from admission to the end of a chat request that was carried out.',
      labels: ['operation', ...LANE_LABELS, 'outcome'],
      bounds: [0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 60, 120, 300],
    },
    seriesMax,
  );
  const ttft = histogram(
    {
      name: 'signalbox_chat_ttft_seconds',
      help: 'Time from admission to the first content of a stream.',
      labels: ['operation', ...LANE_LABELS],
      bounds: [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60],
    },
    seriesMax,
  );
  const dispatch = histogram({
    name: 'signalbox_chat_dispatch_seconds',
    help: 'Time from admission to the first upstream call, without waits for a payment chain.',
    labels: [],
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5],
  });
  return { duration, ttft, dispatch };
}

/** Sums microcredits, which are exact. */
const credits = (verb: string, help: string, seriesMax: number): LabelledCounter =>
  counter(
    {
      name: `signalbox_credits_${verb}_total`,
      help,
      labels: ['operation', ...LANE_LABELS, 'outcome'],
      per: MICROCREDITS,
    },
    seriesMax,
  );
