import { openProviders, unpricedModels } from '../admin/use-cases/catalog/unpriced.ts';
import { namesText } from '../admin/use-cases/doctor/providers.ts';
import { commandName } from '../core/command-name.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Runtime } from '../policy/runtime/runtime.ts';
import { UpstreamError } from '../providers/failures.ts';
import { listModels } from '../providers/model-list.ts';

/** The longest time for the list of one provider, ms. */
const WITHIN_MS = 8_000;

/** The wait after the start, ms: a server that ends at once, as in a trial, calls no provider. */
const AFTER_MS = 10_000;

/**
 * Soon after the start, requests the lists of the providers whose unlisted models the policy serves. Logs one line that names the models
 * without a known price, with the commands that propose entries. A provider that returns no list is left out.
 * @returns a function that stops this
 */
export function tellOfUnpriced(runtime: Runtime, log: Log, timers: Timers): () => void {
  let isEnded = false;
  const tell = async () => {
    const found = await unpricedIn(runtime);
    if (found.length === 0 || isEnded) return;
    log.warn('providers list models that are not served, because their price is not known', {
      models: found.map(({ provider, models }) => `${provider}: ${namesText(models)}`).join('; '),
      commands: found.map(({ provider }) => `${commandName()} catalog update ${provider}`).join('; '),
    });
  };
  const timer = timers.after(AFTER_MS, () => void tell());
  timer.unref();
  return () => {
    isEnded = true;
    timer.close();
  };
}

async function unpricedIn({ snapshot, accounts }: Runtime) {
  const lists = openProviders(snapshot).map(async (provider) => {
    const target = accounts.get(provider)?.[0];
    const listed = target ? await listModels(target, { withinMs: WITHIN_MS }).catch(withoutList) : null;
    const models = unpricedModels(provider, listed ?? [], snapshot);
    return models.length > 0 ? [{ provider, models }] : [];
  });
  return (await Promise.all(lists)).flat();
}

function withoutList(cause: unknown): null {
  if (cause instanceof UpstreamError) return null;
  throw cause;
}
