import { toCredits } from '../core/money/credits.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Declarations } from '../providers/health/declarations.ts';
import type { OpenStore } from '../store/driver.ts';
import type { BrokenDeclaration } from '../store/endpoints.ts';
import type { ServerResources } from './resources.ts';

interface DeclarationResources extends Pick<ServerResources, 'log' | 'life'> {
  readonly store: Pick<OpenStore, 'append' | 'flush' | 'brokenDeclarations' | 'news'>;
}

/**
 * Keeps the store and this server in step about endpoints that broke their `after_abort` declaration. `keepDeclarations` restores the
 * stored broken declarations, follows the changes of other instances, and stores and logs the changes of this instance. `keepDeclarations`
 * rejects with StoreError.
 */
export async function keepDeclarations(
  declarations: Declarations,
  first: PolicySnapshot,
  { store, log, life }: DeclarationResources,
): Promise<void> {
  const { brokenDeclarations: table } = store;
  let changes = 0;
  declarations.restore(await table.all(), {
    broken: (one, isFirst) => {
      changes++;
      store.append([table.put(one)]);
      // The server logs only an endpoint's first excess over its declaration; the ledger raises an alarm about money for every answer.
      if (isFirst)
        log.error(
          'an endpoint billed more than its after_abort allows: each request there now holds its full worst case at once',
          fieldsOf(one),
        );
    },
    lifted: (one) => {
      changes++;
      store.append([table.delete(one)]);
      log.info('the policy changed the after_abort of an endpoint: its earlier excess no longer counts', fieldsOf(one));
    },
  });
  declarations.review(first);
  const forget = store.news.on('endpoints', async () => {
    let before = -1;
    let known: readonly BrokenDeclaration[] = [];
    // The result of a read may lack a change of this instance that was not yet written, or that happened during the read. If this instance
    // changed its declarations during the read, the loop reads them again.
    while (before !== changes) {
      before = changes;
      await store.flush();
      known = await table.all();
    }
    declarations.follow(known);
  });
  life.stops.defer(forget);
}

const fieldsOf = ({ provider, model, upstream, excess }: BrokenDeclaration) => ({
  provider,
  model,
  upstream,
  excess_credits: toCredits(excess),
});
