import { toCredits } from '../core/credits.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { OpenStore } from '../store/driver.ts';
import type { BrokenDeclaration } from '../store/endpoints.ts';
import type { Log } from '../telemetry/log.ts';
import type { Declarations } from '../upstream/health/declarations.ts';

/** Restores the declarations that endpoints have broken, keeps them over restarts, and logs changes. Rejects with StoreError. */
export async function keepDeclarations(
  declarations: Declarations,
  first: PolicySnapshot,
  store: Pick<OpenStore, 'append' | 'brokenDeclarations'>,
  log: Log,
): Promise<void> {
  const { brokenDeclarations: table } = store;
  declarations.restore(await table.all(), {
    broken: (one, isFirst) => {
      store.append([table.put(one)]);
      // The money is alarmed with each answer.
      if (isFirst)
        log.error('an endpoint billed more than its after_abort allows: its holds no longer grow', fieldsOf(one));
    },
    lifted: (one) => {
      store.append([table.delete(one)]);
      log.info('an endpoint declares another after_abort: what it broke no longer counts', fieldsOf(one));
    },
  });
  declarations.review(first);
}

const fieldsOf = ({ provider, model, upstream, excess }: BrokenDeclaration) => ({
  ...{ provider, model, upstream },
  excess_credits: toCredits(excess),
});
