import { describe } from 'bun:test';
import { personalData } from '../../../plugins/guards/personal-data.ts';
import type { GuardMatch, GuardPlugin, GuardWindow, PreparedGuard } from '../../../src/contract/guard.ts';
import { finished } from '../../../src/contract/guard-steps.ts';
import { GUARD_LAWS, type GuardSubject } from '../../../src/tools/conformance/guard.ts';
import { testMutants } from './support.ts';

const sound: GuardPlugin = personalData;
const of = (plugin: GuardPlugin): GuardSubject => ({ plugin });

/** A shipped guard that takes no steps, with a mistake. */
const wrong = (mistake: (real: PreparedGuard) => Partial<PreparedGuard>): GuardSubject =>
  of({
    ...sound,
    prepare(settings) {
      const { takesSteps: _, ...real } = sound.prepare(settings);
      return { ...real, ...mistake(real) };
    },
  });

const checking = (check: (window: GuardWindow, found: readonly GuardMatch[]) => readonly GuardMatch[]): GuardSubject =>
  wrong((real) => ({ check: (window) => check(window, foundBy(real, window)) }));

function foundBy(guard: PreparedGuard, window: GuardWindow): readonly GuardMatch[] {
  const found = guard.check(window);
  return found instanceof Promise ? [] : finished(found);
}

let calls = 0;

describe('guard laws:', () => {
  testMutants(GUARD_LAWS, of(sound), {
    settings: [
      [
        'fails because of its settings',
        of({
          ...sound,
          prepare() {
            throw new TypeError('undefined is not a function');
          },
        }),
      ],
    ],
    form: [
      ['names a kind in capitals', wrong(() => ({ kinds: ['E-Mail address'] }))],
      ['reaches half a character', wrong(() => ({ reach: 0.5 }))],
      ['inspects nothing', of({ ...sound, sides: [] })],
    ],
    matches: [
      ['invents a kind', checking((_, found) => found.map((match) => ({ ...match, kind: 'other' })))],
      [
        'ends after its text',
        checking((_, found) =>
          found.map(({ kind, at }) => ({ kind, ...(at && { at: { ...at, to: at.to + 1_000 } }) })),
        ),
      ],
      [
        'returns a promise although it is pure',
        wrong((real) => ({ check: (window) => Promise.resolve(foundBy(real, window)) })),
      ],
    ],
    inputs: [
      [
        'sorts the texts',
        checking((window, found) => {
          if (Array.isArray(window.texts)) window.texts.sort();
          return found;
        }),
      ],
    ],
    pure: [
      ['finds something only every other time', checking((_, found) => (calls++ % 2 === 0 ? found : []))],
      ['throws dice', checking((_, found) => (Math.random() < 0.5 ? found : []))],
    ],
    reach: [
      ['needs more than it says', wrong(() => ({ reach: 3 }))],
      [
        'finds matches only in whole texts',
        checking(({ texts }, found) => found.filter(({ at }) => at && texts[at.text]!.text.endsWith('.'))),
      ],
    ],
    parts: [['finds only the first match of a window', checking((_, found) => found.slice(0, 1))]],
    pauses: [
      [
        'takes 60 ms for a part of a text',
        checking((_, found) => {
          const end = performance.now() + 60;
          while (performance.now() < end);
          return found;
        }),
      ],
    ],
  });
});
