import { describe, expect, test } from 'bun:test';
import { answerRoutesOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { filledPath } from '../../src/http/kit/path-template.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { GROWTH_MAX, growthOf, LARGER } from '../support/in-time.ts';
import { useSignalbox } from '../support/use.ts';
import { policyOf, RAISED } from './worst/door.ts';
import { bodiesOf } from './worst/readers.ts';

/**
 * The worst requests of each dialect, sent to a server. Everything that the gateway does with a request must take time in proportion to its
 * size.
 */
const TIMEOUT_MS = 600_000;

/** Settings that make the gateway read more of a request than its answer needs. */
const READING = 'records: { metadata: [member0], content: { keep: [prompt, answer] } }\n';

/** An address may have at most 8,192 characters. */
const TOO_LONG = 'openai-chat: an address with many dots';

/** `npm test` takes every third request of each dialect. */
const requests = answerRoutesOf(SURFACES).flatMap((served) => {
  const { surface, route } = served;
  return Object.entries(bodiesOf(served))
    .filter((_, at) => isDeep || at % 3 === 0)
    .map(([what, make]) => {
      const model = route.operation === 'embed' ? 'vectors' : undefined;
      return {
        name: `${surface.name}: ${what}`,
        path: filledPath(route.path, model ?? 'auto'),
        make: (parts: number) => ({ ...make(parts), ...(model && { model }) }),
      };
    });
});

describe('a request that is eight times as large takes the server at most twenty times as long', () => {
  const box = useSignalbox({ policy: policyOf(READING + RAISED) });
  const { runs: partsMax, proved } = effort('holes', 64, 512);
  let worst = 0;

  test.each(requests)(
    '$name',
    async ({ name, path, make }) => {
      const growth = await growthOf(
        (parts) => {
          const body = make(parts);
          return async () => {
            const answer = await box.post(path, body);
            await answer.text();
            expect(answer.status).toBe(name === TOO_LONG && parts > 4_000 ? 400 : 200);
          };
        },
        { leastMs: isDeep ? 8 : 0, partsMax },
      );
      expect(growth).toBeLessThan(GROWTH_MAX);
      worst = Math.max(worst, growth);
    },
    TIMEOUT_MS,
  );

  test('each of the worst requests takes at most twenty times as long if it is eight times as large', () => {
    expect(worst).toBeLessThan(GROWTH_MAX);
    proved(
      `${requests.length} worst requests to a server, of at most ${LARGER * partsMax} parts: a request eight times as large takes at most ${worst.toFixed(1)} times as long`,
    );
  });
});
