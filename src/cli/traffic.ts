import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { iso } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { UsageError } from '../core/usage-error.ts';
import { FULL_SIGHT } from '../operate/sight.ts';
import { questionOf } from '../operate/traffic/question.ts';
import { rebuildTraffic } from '../operate/traffic/rebuild.ts';
import { trafficBody } from '../operate/traffic/traffic.ts';
import type { OpenStore } from '../store/driver.ts';
import { TRAFFIC_DIMENSIONS } from '../store/traffic.ts';
import { groupOf, parseFlags, SWITCH, TEXT } from './arguments.ts';
import { grid } from './terminal.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

interface TrafficCommand {
  readonly store: OpenStore;
  readonly keys: Pick<Keys, 'named'>;
  readonly people: Pick<People, 'team' | 'user'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const FILTERS = Object.fromEntries(TRAFFIC_DIMENSIONS.map((name) => [name, TEXT])) as Record<
  (typeof TRAFFIC_DIMENSIONS)[number],
  typeof TEXT
>;

/** `signalbox traffic show|rebuild`. Throws UsageError. */
export const runTraffic = groupOf<TrafficCommand, string>('traffic', { show, rebuild });

async function show(args: readonly string[], { store, keys, people, now }: TrafficCommand): Promise<string> {
  const {
    json,
    'time-zone': time_zone,
    ...texts
  } = parseFlags(args, {
    ...{ by: TEXT, step: TEXT, from: TEXT, to: TEXT, limit: TEXT, 'time-zone': TEXT, json: SWITCH, ...FILTERS },
  });
  const sources = {
    ...{ store, sight: FULL_SIGHT, now: now(), usdPerCredit: await store.journal.usdPerCredit() },
    nameOf: {
      key: async (id: string) => (await keys.named([id])).get(id)?.name ?? null,
      team: (id: string) => people.team(id)?.name ?? null,
      user: (id: string) => people.user(id)?.name || null,
    },
  };
  const body = await orUsage(() => trafficBody(operator(), sources, questionOf({ ...texts, time_zone }, now())));
  return json ? jsonText(body) : trafficText(body);
}

async function rebuild(args: readonly string[], { store, now }: TrafficCommand): Promise<string> {
  parseFlags(args, {});
  const from = await rebuildTraffic(operator(), store.traffic, now);
  if (from === 0) return 'Counted all traffic again.\n';
  return `Counted the traffic since ${iso(from).slice(0, 10)} again. Earlier records were deleted, so earlier buckets are as they were.\n`;
}

type TrafficBody = Awaited<ReturnType<typeof trafficBody>>;

/** A row for each series, of the whole period. */
function trafficText({ from, to, by, series, other, total, counted_until, counting_since }: TrafficBody): string {
  const figure = (value: number | null) => (value === null ? '-' : value.toLocaleString('en'));
  const rowOf = (name: string, { whole }: TrafficBody['total']) => [
    name,
    ...[whole.requests, whole.errors, whole.credits, whole.saved_credits, whole.input_tokens, whole.output_tokens].map(
      figure,
    ),
    ...[whole.ttft_ms.p50, whole.ttft_ms.p95, whole.duration_ms.p95, whole.tokens_per_second].map(figure),
  ];
  const head = [
    'requests',
    'errors',
    'credits',
    'saved',
    'input',
    'output',
    'ttft p50',
    'ttft p95',
    'total p95',
    'tokens/s',
  ];
  const rows = [
    [by ?? '', ...head].map((name) => name.toUpperCase()),
    ...series.map((one) => rowOf(one.name || '-', one)),
    ...(other ? [rowOf('(other)', other)] : []),
    rowOf('(total)', total),
  ];
  const minute = (time: string) => `${time.slice(0, 16).replace('T', ' ')} UTC`;
  const past = counting_since === null ? '' : ` What was before ${minute(counting_since)} is still being counted.`;
  return `${grid(rows, false, (column) => column > 0).join('\n')}\n\nFrom ${minute(from)} to ${minute(to)}, counted until ${minute(counted_until)}. Times are in ms.${past}\n`;
}

/** A refusal of the API as one of the command line. */
async function orUsage<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof SignalboxError)) throw cause;
    throw new UsageError(cause.message);
  }
}
