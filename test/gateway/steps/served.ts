import type { AddedSteps } from '../../../src/gateway/request/steps.ts';
import { NO_STEPS } from '../../../src/gateway/request/steps.ts';
import { type AnswerContent, type CallerSurface, requestIn, SURFACES } from '../../fault/surfaces.ts';
import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Each dialect, with an answer as JSON and as a stream. */
export const WAYS = SURFACES.flatMap((surface) =>
  [false, true].map(
    (isStream) => [`${surface.name}, ${isStream ? 'a stream' : 'JSON'}`, { surface, isStream }] as const,
  ),
);

export interface Way {
  readonly surface: CallerSurface;
  readonly isStream: boolean;
}

/** Starts a server with one priced model and added steps. */
export const startWith = (upstream: string, steps: Partial<AddedSteps>, more = ''): Promise<Signalbox> =>
  startSignalbox({
    policy: withCompletions(
      testPolicy({ fake: upstream }, { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } }, more),
    ),
    env: UPSTREAM_ENV,
    steps: () => ({ ...NO_STEPS, ...steps }),
  });

export function send({ surface, isStream }: Way, box: Signalbox, question: string, headers = {}): Promise<Response> {
  const { path, body } = requestIn(surface, 'best', isStream, surface.body(20, null, question));
  return box.post(path, body, { headers });
}

/** Reads an answer that succeeded. */
export async function contentOf({ surface, isStream }: Way, response: Response): Promise<AnswerContent> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return isStream ? surface.streamed(text) : surface.content(JSON.parse(text));
}
