import { toCredits } from '../core/credits.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Declarations } from '../providers/health/declarations.ts';
import type { OpenStore } from '../store/driver.ts';
import type { BrokenDeclaration } from '../store/endpoints.ts';

/**
 * Restores the declarations that endpoints have broken, keeps them in the store, follows those that another instance finds or
 * lifts there, and logs own changes. Rejects with StoreError.
 * @returns how to end that
 */
export async function keepDeclarations(
  declarations: Declarations,
  first: PolicySnapshot,
  store: Pick<OpenStore, 'append' | 'flush' | 'brokenDeclarations' | 'news'>,
  log: Log,
): Promise<() => void> {
  const { brokenDeclarations: table } = store;
  let changes = 0;
  declarations.restore(await table.all(), {
    broken: (one, isFirst) => {
      changes++;
      store.append([table.put(one)]);
      // The money is alarmed with each answer.
      if (isFirst)
        log.error('an endpoint billed more than its after_abort allows: its holds no longer grow', fieldsOf(one));
    },
    lifted: (one) => {
      changes++;
      store.append([table.delete(one)]);
      log.info('an endpoint declares another after_abort: what it broke no longer counts', fieldsOf(one));
    },
  });
  declarations.review(first);
  return store.news.on('endpoints', async () => {
    let before = -1;
    let known: readonly BrokenDeclaration[] = [];
    // An own change that is not written, or comes during the reading, may be missing from it.
    while (before !== changes) {
      before = changes;
      await store.flush();
      known = await table.all();
    }
    declarations.follow(known);
  });
}

const fieldsOf = ({ provider, model, upstream, excess }: BrokenDeclaration) => ({
  ...{ provider, model, upstream },
  excess_credits: toCredits(excess),
});
