import { UsageError } from '../../../core/usage-error.ts';
import { openRecordReader } from '../../../gateway/records/records.ts';
import type { StoreReader } from '../../../store/driver.ts';
import { readStore } from '../../../store/open.ts';
import { type CacheServices, showCache } from '../../cache.ts';
import { DECISION_COMMANDS, type DecisionReader, type RequestReader } from '../../decisions.ts';
import { type GuardServices, listGuards } from '../../guards.ts';
import { type Owners, ownersIn } from '../../use-cases/people.ts';
import { Places, UNBOUNDED } from '../../use-cases/places.ts';
import type { Principal } from '../../use-cases/principal.ts';
import { FULL_SIGHT, type Sight } from '../../use-cases/sight.ts';
import { groupOf } from '../arguments.ts';
import { StoredPeople } from '../ledger/holders.ts';
import { commandsOf } from '../operations.ts';
import type { CommandOutput } from '../result.ts';

interface DecisionsCommand {
  readonly reader: StoreReader;
  readonly people: StoredPeople;
  now(): number;
  warn(text: string): void;
}

/**
 * Runs `signalbox decisions`, `signalbox guards` or `signalbox cache` on the database, without a server.
 * @param file the path of an existing database
 * @returns the text to print
 * @throws UsageError
 */
export async function runDecisions(
  name: keyof typeof GROUPS,
  args: readonly string[],
  file: string,
  { now, warn }: Pick<DecisionsCommand, 'now' | 'warn'>,
): Promise<CommandOutput> {
  using reader = await readStore(file, ['records', 'ledger', 'access', 'people']);
  if (!(await reader.records.isCurrent())) {
    throw new UsageError(
      `${file} has no decision records of this version yet. Start the server once to create the tables.`,
    );
  }
  return await GROUPS[name](args, { reader, people: await StoredPeople.of(reader), now, warn });
}

const servicesIn = ({ reader: { records, journal, keys }, people }: DecisionsCommand) => ({
  records: { ...openRecordReader(records), list: records.log.list },
  sightOf: () => sightOf(keys),
  people,
  ownersOf: (by: Principal, owners: Owners) => ownersIn(people, by, owners),
  filterNames: {
    key: {
      has: async (text: string) => (await keys.find(text)) !== null || (await keys.idsOf({ name: text })).length > 0,
      names: async () => (await keys.all()).map(({ key }) => key.info.name),
    },
    team: {
      has: (text: string) => people.team(text) !== null || people.teamNamed(text) !== null,
      names: () => people.teams().map(({ name }) => name),
    },
  },
  usdPerCredit: () => journal.usdPerCredit(),
  // The database does not have the active policy in a checked form.
  guards: () => [],
  guardHealth: null,
  cachePolicy: () => null,
  cachedAnswers: null,
  counts: new Places(UNBOUNDED),
});

const GROUPS = {
  decisions: groupOf(
    'decisions',
    commandsOf<DecisionReader & RequestReader, DecisionsCommand>(DECISION_COMMANDS, servicesIn),
  ),
  cache: groupOf('cache', commandsOf<CacheServices, DecisionsCommand>([showCache], servicesIn)),
  guards: groupOf('guards', commandsOf<GuardServices, DecisionsCommand>([listGuards], servicesIn)),
};

/** An operator may see all decisions, with the names of keys. */
function sightOf(keys: StoreReader['keys']): Sight {
  const names = new Map<string, string>();
  return {
    ...FULL_SIGHT,
    nameOf: (id) => FULL_SIGHT.nameOf(id) ?? names.get(id) ?? null,
    idsOf: async (key) => [key, ...(await keys.idsOf({ name: key }))],
    async learn(ids) {
      for (const { id, name } of await keys.names([...new Set(ids)])) names.set(id, name);
    },
  };
}
