import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { HEALTH } from '../../../src/core/decision/readings.ts';
import { JITTER } from '../../../src/providers/health/breaker.ts';
import type { EndpointHealth } from '../../../src/providers/health/types.ts';
import { randomFrom, tries } from '../../deep/effort.ts';
import { model, snapshot } from '../../routing/build.ts';
import { fakeHealth, SERVER } from './support.ts';

const { numRuns, seed } = tries('a breaker follows a provider that goes down and up again', 10, 500);

/** The time in ms for which the provider is up, and then down. */
const HALF_MS = 10_000;
const LASTS_MS = 400_000;
const FAILS_AFTER_MS = 20;
const ANSWERS_AFTER_MS = 150;
/** Twice the number of answers that reset ejections to the shortest, because some answers began before the last ejection. */
const ANSWERS_ENOUGH = 20;

interface Wave {
  readonly isUp: (endpoint: number, now: number) => boolean;
  /** The time between two requests, in ms. */
  readonly everyMs: number;
  readonly chance: number;
}

interface Run {
  /** The times at which the first endpoint answered. */
  readonly answersOfFirst: readonly number[];
  /** The times at which the first endpoint was ejected, and for how long. */
  readonly ejections: readonly { readonly at: number; readonly ms: number }[];
  /** The requests without an answer although an endpoint was up all the time. */
  readonly lost: readonly number[];
  /** The times at which no endpoint was available although one never fails. */
  readonly allShut: readonly number[];
}

/** Simulates two endpoints under steady traffic. The simulation tries available endpoints in order, then all other endpoints by force. */
function simulate({ isUp, everyMs, chance }: Wave): Run {
  const { health, time, changes } = fakeHealth(randomFrom(chance));
  const models = snapshot([model('a'), model('b')]);
  const readings = health.watch(models);
  const endpoints = [health.endpoint('p', 'a', 'a'), health.endpoint('p', 'b', 'b')] as const;
  const due: { readonly at: number; readonly run: () => void }[] = [];
  const answersOfFirst: number[] = [];
  const ejections: { at: number; ms: number }[] = [];
  const lost: number[] = [];
  const allShut: number[] = [];

  const later = (ms: number, run: () => void) => due.push({ at: time.now + ms, run });
  const attempt = (began: number, ways: readonly (readonly [EndpointHealth, force: boolean])[]): void => {
    const [way, ...others] = ways;
    if (!way) {
      lost.push(began);
      return;
    }
    const [endpoint, force] = way;
    const trial = endpoint.begin({ retry: false, force });
    if (typeof trial === 'string') {
      attempt(began, force ? others : [...others, [endpoint, true]]);
    } else if (isUp(endpoint === endpoints[0] ? 0 : 1, time.now)) {
      later(ANSWERS_AFTER_MS, () => {
        trial.answered(ANSWERS_AFTER_MS);
        trial.completed(0, 0, null);
        if (endpoint === endpoints[0]) answersOfFirst.push(time.now);
      });
    } else {
      later(FAILS_AFTER_MS, () => {
        const before = changes.length;
        trial.failed(SERVER, true);
        for (const { model, to, forMs } of changes.slice(before)) {
          if (model === 'a' && to === 'ejected') ejections.push({ at: time.now, ms: forMs! });
        }
        attempt(began, others);
      });
    }
  };

  for (; time.now < LASTS_MS; time.now += 10) {
    for (let i = due.findIndex(({ at }) => at <= time.now); i >= 0; i = due.findIndex(({ at }) => at <= time.now)) {
      due.splice(i, 1)[0]!.run();
    }
    const { health: states } = readings();
    if (states.every((state) => state !== HEALTH.healthy)) allShut.push(time.now);
    if (time.now % everyMs === 0) {
      const [open, ejected] = [true, false].map((isOpen) =>
        endpoints.filter((_, slot) => (states[slot] === HEALTH.healthy) === isOpen),
      );
      const way = [...open!.map((one) => [one, false] as const), ...ejected!.map((one) => [one, true] as const)];
      attempt(time.now, way);
    }
  }
  return { answersOfFirst, ejections, lost, allShut };
}

const isUpInWave = (now: number) => Math.floor(now / HALF_MS) % 2 === 0;
const phases = Array.from({ length: LASTS_MS / HALF_MS - 1 }, (_, i) => ({ from: i * HALF_MS, to: (i + 1) * HALF_MS }));
const ups = phases.filter(({ from }) => isUpInWave(from)).slice(1);
const downs = phases.filter(({ from }) => !isUpInWave(from));

const waves = fc.record({ everyMs: fc.constantFrom(10, 20, 50, 100), chance: fc.nat() });

describe('a provider that is up for 10 s and down for 10 s', () => {
  test('gets its traffic back within one probe of each recovery, does not flap, and no request fails', () => {
    fc.assert(
      fc.property(waves, ({ everyMs, chance }) => {
        const isUp = (endpoint: number, now: number) => endpoint === 1 || isUpInWave(now);
        const { answersOfFirst, ejections, lost, allShut } = simulate({ isUp, everyMs, chance });
        expect(lost).toEqual([]);
        expect(allShut).toEqual([]);
        for (const { from, to } of ups) {
          // The ejection at the time of the recovery, and the probe after it.
          const running = ejections.findLast(({ at }) => at <= from + FAILS_AFTER_MS)!;
          const probedAt = Math.max(from, running.at + running.ms) + everyMs + 10;
          const back = answersOfFirst.find((at) => at > from + ANSWERS_AFTER_MS)!;
          expect(back).toBeLessThanOrEqual(probedAt + ANSWERS_AFTER_MS + 10);
          expect(back).toBeLessThan(to);
          // From then on the endpoint stays available until it fails again.
          expect(ejections.filter(({ at }) => at > back && at <= to)).toEqual([]);
        }
        for (const { from, to } of downs) {
          const during = ejections.filter(({ at }) => at > from && at <= to + FAILS_AFTER_MS).map(({ ms }) => ms);
          expect(during.length).toBeGreaterThan(0);
          const last = ejections.findLast(({ at }) => at <= from);
          const answers = answersOfFirst.filter((at) => at > (last ? last.at + last.ms : 0) && at <= from);
          if (answers.length >= ANSWERS_ENOUGH) expect(during[0]).toBeLessThanOrEqual(1_000 * (1 + JITTER));
          // Each step of the backoff occurs once: the next ejection is longer, with any jitter.
          for (let i = 1; i < during.length; i++) expect(during[i]!).toBeGreaterThan(during[i - 1]!);
        }
      }),
      { numRuns, seed },
    );
  }, 3_600_000);

  test('loses no request if the other provider is down while it is up, because an ejected endpoint can be forced', () => {
    fc.assert(
      fc.property(waves, ({ everyMs, chance }) => {
        const isUp = (endpoint: number, now: number) => isUpInWave(now) === (endpoint === 0);
        expect(simulate({ isUp, everyMs, chance }).lost).toEqual([]);
      }),
      { numRuns, seed },
    );
  }, 3_600_000);
});
