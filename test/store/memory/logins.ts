import type { Login, LoginRow, LoginTable } from '../../../src/store/logins.ts';
import { type MemoryStore, MemoryTable, refuse, unmet } from './store.ts';

interface LoginInMemory extends LoginRow {
  readonly token: Uint8Array | null;
  readonly renewing: number;
  readonly changed: number;
}

const rowOf = ({ login, hash }: LoginInMemory): LoginRow => ({ login, hash });

export function memoryLogins(store: MemoryStore): LoginTable {
  const rows = new MemoryTable<string, LoginInMemory>(store);
  const change = (row: LoginInMemory, login: Partial<Login>, more: Partial<LoginInMemory> = {}) =>
    rows.put(row.login.id, { ...row, login: { ...row.login, ...login }, ...more, changed: store.raised('logins') });
  const live = (id: string) => {
    const row = rows.get(id);
    return row && row.login.endedAt === null ? row : undefined;
  };
  return {
    async find(id) {
      const row = rows.get(id);
      return row ? rowOf(row) : null;
    },
    async changedAfter(number) {
      const changed = rows.rows().filter((row) => row.changed > number);
      const order = ({ login: a }: LoginRow, { login: b }: LoginRow) =>
        a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
      return { rows: changed.sort(order).map(rowOf), through: Math.max(number, ...changed.map((row) => row.changed)) };
    },
    insert: ({ login, hash }, token) =>
      store.write(() => {
        if (rows.get(login.id)) refuse('this login is there');
        const { user, key, keyHash } = login;
        if ((user === null) === (key === null) || (key === null) !== (keyHash === null))
          refuse('a login is of a user or of a key');
        rows.put(login.id, { login, hash, token, renewing: 0, changed: store.raised('logins') });
      }),
    end: (id, time) =>
      store.write(() => {
        const row = live(id) ?? unmet();
        change(row, { endedAt: time, expiresAt: Math.min(row.login.expiresAt, time) }, { token: null });
      }),
    use: (id, time) =>
      store.write(() => {
        const row = rows.get(id);
        if (row && row.login.usedAt < time) change(row, { usedAt: time });
      }),
    tokenOf: async (id) => rows.get(id)?.token ?? null,
    claim: ({ id, confirmedAt, now, until }) =>
      store.write(() => {
        const row = live(id) ?? unmet();
        if (row.login.confirmedAt !== confirmedAt || row.renewing > now) unmet();
        rows.put(id, { ...row, renewing: until });
      }),
    confirm: (id, time, token) =>
      store.write(() => {
        const row = live(id);
        if (row) change(row, { confirmedAt: time }, { token, renewing: 0 });
      }),
    async prune(until) {
      const old = rows.rows().filter(({ login }) => login.expiresAt <= until);
      await store.commit(old.map(({ login }) => store.write(() => rows.delete(login.id))));
      return old.length;
    },
  };
}
