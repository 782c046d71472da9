import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

export const CACHE_HEADER = 'x-signalbox-cache';

/** Starts a server with one priced model and a cache. @param more sections of the policy */
export const cachingServer = (upstream: string, more: string, models = {}): Promise<Signalbox> =>
  startSignalbox({
    policy: withCompletions(
      testPolicy(
        { fake: upstream },
        { best: { endpoints: ['fake'], price: { input: 4, output: 16 } }, ...models },
        more,
      ),
    ),
    env: UPSTREAM_ENV,
  });

/**
 * Sends a request until the cache answers it, because an answer is stored some milliseconds after it was sent.
 * @returns the last answer of a model, the answer of the cache, and how often the hit called the upstream
 */
export async function missAndHit(
  { requests }: { readonly requests: readonly unknown[] },
  send: () => Promise<Response>,
) {
  let miss: Response | null = null;
  return await waitFor(async () => {
    const before = requests.length;
    const response = await send();
    if (miss && response.headers.get(CACHE_HEADER) === 'hit')
      return { miss, hit: response, calls: requests.length - before };
    miss = new Response(await response.text(), response);
    return null;
  });
}
