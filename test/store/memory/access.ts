import type { AnswerRow, AnswerVersion, IdempotencyTable } from '../../../src/store/idempotency.ts';
import { type InstanceName, isSameInstance } from '../../../src/store/instance.ts';
import type { KeyRow, KeyTable, StoredKey, UserKeyCounts } from '../../../src/store/keys.ts';
import type { Membership, User, VersionedRow } from '../../../src/store/people.ts';
import type { Repositories } from '../../../src/store/repositories.ts';
import type {
  KeyEvent,
  SubjectEvent,
  TrailEvent,
  TrailLink,
  TrailTable,
  UserRoom,
  WordSlot,
} from '../../../src/store/trail.ts';
import { anchorOf, entryOf, erasureOf, GENESIS, linkAfter } from '../../../src/store/trail-chain.ts';
import { memoryPeople } from './people.ts';
import { type MemoryStore, MemoryTable, refuse, unmet } from './store.ts';
import { memoryThreads } from './threads.ts';

const DAY_MS = 86_400_000;

const inOrder = (one: KeyRow, other: KeyRow): number => {
  const [{ info: a }, { info: b }] = [one.key, other.key];
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
};

/** Whether a key is an admin key beyond a time. */
const isAdmin = ({ key: { info } }: KeyRow, time: number): boolean =>
  info.scopes.includes('admin') &&
  info.revokedAt === null &&
  info.suspendedAt === null &&
  (info.expiresAt === null || info.expiresAt > time);

const isSame = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one !== null && other !== null && Buffer.from(one).equals(other);

/** Whether a secret with this hash is one of a key's at a time. */
const opens = ({ info, hash, previousHash }: StoredKey, made: Uint8Array | null, time: number): boolean =>
  isSame(hash, made) || (isSame(previousHash, made) && (info.overlapEndsAt ?? 0) > time);

const isEnded = ({ info: { revokedAt, expiresAt } }: StoredKey, time: number): boolean =>
  revokedAt !== null || (expiresAt !== null && expiresAt <= time);

const isValidBy = (key: StoredKey, made: Uint8Array | null, time: number): boolean =>
  !isEnded(key, time) && key.info.suspendedAt === null && opens(key, made, time);

const isOpenBelow = (key: StoredKey, above: StoredKey, time: number): boolean =>
  !isEnded(key, time) && opens(above, key.parentHash, time);

/** The keys, their trail, and their threads and people, which look at the keys. */
export function memoryKeys(store: MemoryStore): Pick<Repositories, 'keys' | 'people' | 'threads' | 'trail'> {
  const rows = new MemoryTable<string, KeyRow>(store);
  const entries = new MemoryTable<number, TrailLink>(store);
  const unrevoked = (wallet: string) =>
    rows
      .rows()
      .filter(({ key: { info } }) => info.holder === wallet && info.revokedAt === null)
      .sort(inOrder);
  const change = (id: string, changed: (key: StoredKey) => StoredKey) => {
    const row = rows.get(id);
    if (row) rows.put(id, { ...row, key: changed(row.key), version: store.raised('keys') });
  };
  const moved = (id: string, of: Membership) => {
    const line = rows
      .rows()
      .filter(({ key: { info } }) => info.parent !== null && lineUp(info.id).at(-1)?.key.info.id === id);
    for (const { key } of line) change(key.info.id, (stored) => ({ ...stored, info: { ...stored.info, ...of } }));
  };
  const isRevoked = (id: string) => rows.get(id)?.key.info.revokedAt != null;
  const { threads, erase } = memoryThreads(store, isRevoked);
  const revoked = (id: string, revokedAt: number) => {
    if (!rows.get(id)) return;
    change(id, (key) => ({ ...key, info: { ...key.info, revokedAt } }));
    erase(id);
  };
  const ofLiving = (of: Partial<Membership>) => (row: KeyRow) => {
    const { team, user, revokedAt } = row.key.info;
    return (
      revokedAt === null &&
      row.key.info.parent === null &&
      (of.team === undefined ? of.user === user : of.team === team)
    );
  };
  const makers = new MemoryTable<string, string>(store);
  const countOfUser = ({ owner, maker }: Pick<UserRoom, 'owner' | 'maker'>, time: number): UserKeyCounts => {
    const all = rows.rows().map(({ key }) => key.info);
    const isOf = ({ id, user, parent }: KeyRow['key']['info']) =>
      parent === null && (user === null ? makers.get(id) === owner : user === owner);
    return {
      unrevoked: all.filter((info) => info.revokedAt === null && isOf(info)).length,
      aDay: all.filter(
        ({ id, parent, createdAt }) => makers.get(id) === maker && parent === null && createdAt > time - DAY_MS,
      ).length,
    };
  };
  /** The user whose limits count the child keys of a line, by its first key. */
  const ownerOf = ({ id, user }: StoredKey['info']) => user ?? makers.get(id) ?? null;
  const users = new MemoryTable<string, VersionedRow<User>>(store);
  const keysOfPeople = {
    isInUse: (of: Partial<Membership>) => rows.rows().some(ofLiving(of)),
    move(user: string, team: string | null) {
      for (const { key } of rows.rows().filter(ofLiving({ user }))) {
        change(key.info.id, (stored) => ({ ...stored, info: { ...stored.info, team } }));
        moved(key.info.id, { team, user });
      }
    },
  };
  const people = memoryPeople(store, keysOfPeople, users);
  const keys: KeyTable = {
    all: async () => rows.rows().sort(inOrder),
    find: async (id) => rows.rows().find(({ key }) => key.info.id === id) ?? null,
    ofHolder: async (holder) =>
      rows
        .rows()
        .sort(inOrder)
        .filter(({ key }) => key.info.holder === holder),
    page: async ({ after, limit, of, isUnrevoked }) =>
      rows
        .rows()
        .filter(({ key: { info } }) => !isUnrevoked || info.revokedAt === null)
        .filter(({ key: { info } }) => of === null || info[of.member] === of.id)
        .filter(({ key: { info } }) => {
          if (after === null || info.createdAt !== after.createdAt) return info.createdAt > (after?.createdAt ?? -1);
          return info.id > after.id;
        })
        .sort(inOrder)
        .slice(0, limit),
    names: async (ids) =>
      rows.rows().flatMap(({ key: { info } }) => {
        const { id, name, labels, parent, team, user } = info;
        return ids.includes(id) ? [{ id, name, labels: parent === null ? labels : null, parent, team, user }] : [];
      }),
    idsOf: async (of) =>
      rows.rows().flatMap(({ key: { info } }) => {
        const { name, team, user } = info;
        const isOf =
          'name' in of ? name === of.name : (team !== null && team === of.team) || (user !== null && user === of.user);
        return isOf ? [info.id] : [];
      }),
    idsBelow: async (id, limit) => {
      const below = (parent: string): string[] =>
        rows.rows().flatMap(({ key: { info } }) => (info.parent === parent ? [info.id, ...below(info.id)] : []));
      return below(id).slice(0, limit);
    },
    async changedAfter(number, endedBefore = 0) {
      const changed = rows.rows().filter(({ version }) => version > number);
      const through = Math.max(number, ...changed.map(({ version }) => version));
      const slim = (row: KeyRow): KeyRow =>
        row.key.info.revokedAt === null
          ? row
          : { ...row, key: { ...row.key, info: { ...row.key.info, models: null } } };
      const isOpen = ({ key: { info } }: KeyRow) => {
        if (info.revokedAt !== null || info.parent === null) return info.revokedAt === null;
        const above = lineUp(info.parent);
        const isOrphan = [above[0], above.at(-1)].some((row) => row && row.key.info.revokedAt !== null);
        const hasChild = rows.rows().some((row) => row.key.info.parent === info.id && row.key.info.revokedAt === null);
        return !isOrphan && (info.expiresAt === null || info.expiresAt >= endedBefore || hasChild);
      };
      const read = number < 0 ? changed.filter(isOpen) : changed;
      return { rows: read.map(slim).sort(inOrder), through };
    },
    countOfUser: async (user, time) => countOfUser(user, time),
    insert: ({ lastUsedAt: _, ...info }, hash, { parentHash = null, maker = null } = {}) =>
      store.write(() => {
        if (rows.get(info.id)) refuse('this key is there');
        const first = info.parent === null ? undefined : lineUp(info.parent).at(-1)?.key.info;
        const owner = maker ?? (first ? ownerOf(first) : null);
        if (owner !== null) makers.put(info.id, owner);
        const fresh = { revokedAt: null, rotatedAt: null, overlapEndsAt: null, suspendedAt: null };
        const { team, user } = first ?? info;
        const key = { info: { ...info, ...fresh, team, user }, hash, previousHash: null, parentHash };
        rows.put(info.id, { key, lastUsedAt: null, version: store.raised('keys') });
      }),
    rotate: (id, hash, rotatedAt, overlapEndsAt) =>
      store.write(() =>
        change(id, (key) => ({
          ...key,
          ...{ info: { ...key.info, rotatedAt, overlapEndsAt }, hash, previousHash: key.hash },
        })),
      ),
    change: ({ id, name, scopes, labels, models, limits, budgets, holders, expiresAt, suspendedAt, team, user }) => {
      const terms = { name, scopes, labels, models, limits, budgets, holders, expiresAt, suspendedAt, team, user };
      return store.write(() => {
        const before = rows.get(id)?.key.info;
        change(id, (key) => ({ ...key, info: { ...key.info, ...terms } }));
        const isMoved = before?.parent === null && (before.team !== team || before.user !== user);
        if (isMoved) moved(id, { team, user });
      });
    },
    revoke: (id, time) => store.write(() => revoked(id, time)),
    revokeOfHolder: (wallet, exceptId, time) =>
      store.write(() => {
        for (const { key } of unrevoked(wallet)) if (key.info.id !== exceptId) revoked(key.info.id, time);
      }),
    putUses: (uses) =>
      store.write(() => {
        for (const [id, time] of Object.entries(uses)) {
          const row = rows.get(id);
          if (row) rows.put(id, { ...row, lastUsedAt: Math.max(row.lastUsedAt ?? 0, time) });
        }
      }),
  };
  /** A key and those above it, the nearest first. */
  const lineUp = (id: string): KeyRow[] => {
    const row = rows.get(id);
    if (!row) return [];
    const { parent } = row.key.info;
    return [row, ...(parent === null ? [] : lineUp(parent))];
  };
  const byId = () => entries.rows().sort((one, other) => one.id - other.id);
  const put = (event: SubjectEvent) => {
    const link = linkAfter(byId().at(-1) ?? GENESIS, event);
    entries.put(link.id, link);
  };
  const putOfKey = ({ keyId, ...event }: KeyEvent) => put({ ...event, subject: { kind: 'key', id: keyId } });
  const trail: TrailTable = {
    add: (event) => store.write(() => put(event)),
    addIfValid: (event, validAt) =>
      store.write(() => {
        const info = rows.get(event.keyId)?.key.info;
        if (!info || info.revokedAt !== null) return unmet();
        if (info.expiresAt !== null && info.expiresAt <= validAt) return unmet();
        putOfKey(event);
      }),
    addIfUnchanged: (event, { version, otherAdminAt }) =>
      store.write(() => {
        const row = rows.get(event.keyId);
        if (row?.version !== version || row.key.info.revokedAt !== null) return unmet();
        if (otherAdminAt !== null && !rows.rows().some((one) => one !== row && isAdmin(one, otherAdminAt))) unmet();
        putOfKey(event);
      }),
    addIfRoom: (event, wallet, limits) =>
      store.write(() => {
        const made = rows.rows().filter(({ key: { info } }) => info.holder === wallet);
        const today = made.filter(({ key: { info } }) => info.createdAt > event.time - DAY_MS);
        if (unrevoked(wallet).length >= limits.unrevoked || today.length >= limits.aDay) return unmet();
        putOfKey(event);
      }),
    addIfRoomOfUser: (event, { unrevoked: most, aDay, ...user }) =>
      store.write(() => {
        const counts = countOfUser(user, event.time);
        if (counts.unrevoked >= most || counts.aDay >= aDay) return unmet();
        putOfKey(event);
      }),
    addIfRoomBelow: (event, { parent, hash, depth, live, aDay, aDayOfUser }) =>
      store.write(() => {
        const { time } = event;
        const above = lineUp(parent);
        const isValid = above.every(({ key }, at) =>
          isValidBy(key, at === 0 ? hash : above[at - 1]!.key.parentHash, time),
        );
        const first = above.at(-1)?.key.info;
        if (!first || first.parent !== null || first.holder !== null || !isValid || above.length > depth)
          return unmet();
        const open = rows
          .rows()
          .filter(({ key }) => key.info.parent === parent && isOpenBelow(key, above[0]!.key, time));
        const ofLine = rows.rows().filter(({ key: { info } }) => lineUp(info.id).at(-1)?.key.info.id === first.id);
        const today = ofLine.filter(({ key: { info } }) => info.parent !== null && info.createdAt > time - DAY_MS);
        if (open.length >= live || today.length >= aDay) return unmet();
        const owner = ownerOf(first);
        const isOperator = ['owner', 'admin'].includes(users.get(owner ?? '')?.row.role ?? '');
        const ofUser = rows.rows().filter(({ key: { info } }) => {
          const isChild = info.parent !== null && info.createdAt > time - DAY_MS;
          return isChild && makers.get(info.id) === owner;
        });
        if (owner !== null && !isOperator && ofUser.length >= aDayOfUser) return unmet();
        putOfKey(event);
      }),
    addOfHolder: (event: TrailEvent, wallet, exceptId) =>
      store.write(() => {
        for (const { key } of unrevoked(wallet))
          if (key.info.id !== exceptId) putOfKey({ ...event, keyId: key.info.id });
      }),
    erase: (erased, actor, time) =>
      store.write(() => {
        const slotsOf = ({ words, subject }: TrailLink): WordSlot[] => {
          if ('subject' in erased) return subject.id === erased.subject && words.details ? ['details'] : [];
          return words.by?.text === erased.actorName ? (['by', 'from'] as const).filter((slot) => words[slot]) : [];
        };
        const found = byId().map((link) => ({ link, slots: slotsOf(link) }));
        const places = found.flatMap(({ link, slots }) => slots.map((slot) => `${link.id}.${slot}`));
        if (places.length === 0) return unmet();
        put(erasureOf(places, actor, time));
        for (const { link, slots } of found) {
          const left = Object.entries(link.words).filter(([slot]) => !slots.some((one) => one === slot));
          entries.put(link.id, { ...link, words: Object.fromEntries(left) });
        }
      }),
    prune: (before, time) =>
      store.write(() => {
        const all = byId();
        const stays = all.findIndex((link) => link.action !== 'anchor' && link.time >= before);
        const old = stays < 0 ? all : all.slice(0, stays);
        const last = old.at(-1);
        if (!last || old.every(({ action }) => action === 'anchor')) return;
        put(anchorOf(last, time));
        for (const { id } of old) entries.delete(id);
      }),
    horizon: async () => byId().at(-1)?.id ?? 0,
    list: async ({ keyId, kind, before = Number.POSITIVE_INFINITY, limit, action, actor, from = 0, to }) =>
      byId()
        .filter((link) => action === undefined || link.action === action)
        .filter((link) => actor === undefined || link.actor === actor || link.words.by?.text === actor)
        .filter(({ time }) => time >= from && (to === undefined || time < to))
        .filter(({ id, subject }) => id < before && (keyId === null || subject.id === keyId))
        .filter(({ subject }) => kind === undefined || subject.kind === kind)
        .reverse()
        .slice(0, limit)
        .map(entryOf),
    links: async (after, limit) => {
      let ahead = 0;
      return byId()
        .filter(({ id }) => id > after)
        .slice(0, limit.rows)
        .filter(({ facts, words }) => {
          const isIn = ahead < limit.chars;
          ahead += facts.length + Object.values(words).reduce((sum, { text }) => sum + text.length, 0);
          return isIn;
        });
    },
  };
  return { keys, people, trail, threads };
}

export function memoryIdempotency(store: MemoryStore): IdempotencyTable {
  const rows = new MemoryTable<string, AnswerRow>(store);
  const keyOf = (name: Uint8Array) => Buffer.from(name).toString('hex');
  const put = (row: AnswerRow) => {
    if (row.name.length !== 32) refuse('a name has 32 bytes');
    if ((row.answer !== null) !== (row.state === 'kept')) refuse('an answer is kept, or none');
    rows.put(keyOf(row.name), row);
  };
  const isVersion = (row: AnswerRow | undefined, { state, salt }: AnswerVersion) =>
    row?.state === state && Buffer.from(row.salt).equals(salt);
  const isOf = (owner: InstanceName) => (row: AnswerRow) => row.owner !== null && isSameInstance(row.owner, owner);
  return {
    find: async (name) => rows.get(keyOf(name)) ?? null,
    claim: (row, seen) =>
      store.write(() => {
        const present = rows.get(keyOf(row.name));
        if (isVersion(present, row)) return;
        if (seen === null ? present !== undefined : !isVersion(present, seen)) unmet();
        put(row);
      }),
    replace: (from, row) =>
      store.write(() => {
        if (!isVersion(rows.get(keyOf(from.name)), from)) return;
        if (row) put(row);
        else rows.delete(keyOf(from.name));
      }),
    async owners() {
      const all = rows.rows().flatMap(({ owner }) => owner ?? []);
      return all.filter((one, at) => all.findIndex((other) => isSameInstance(one, other)) === at);
    },
    disown: (owner) =>
      store.write(() => {
        for (const row of rows.rows().filter(isOf(owner))) put({ ...row, owner: null });
      }),
    async prune(until) {
      const old = rows.rows().filter(({ time, owner }) => time <= until && owner === null);
      await store.commit(old.map(({ name }) => store.write(() => rows.delete(keyOf(name)))));
      return old.length;
    },
  };
}
