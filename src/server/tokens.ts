import { Tokens } from '../access/tokens/tokens.ts';
import { loadSecret } from '../payments/seal.ts';
import type { ServerResources } from './resources.ts';

/** Opens the check of workload tokens. The check stores the subject of each valid token. `openTokens` throws StoreError. */
export async function openTokens({
  store,
  log,
  people,
  host: { clock },
}: Pick<ServerResources, 'store' | 'log' | 'people' | 'host'>): Promise<Tokens> {
  const { now } = store.instance;
  return new Tokens({
    clock,
    now,
    log,
    secret: await loadSecret(store),
    teams: {
      idOf: (name) => people.teamNamed(name)?.id ?? null,
      has: (id) => people.team(id)?.removedAt === null,
    },
    blocksAge: () => store.news.ageOf('wallets'),
    onSubject: (subject) => store.append([store.subjects.see(subject, now())]),
  });
}
