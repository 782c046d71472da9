import { type TSchema, Type } from '@sinclair/typebox';
import type { StrategyPlugin } from '../contract/strategy.ts';
import { isObject, objectOf, textOf } from '../core/json/object.ts';
import { discoverOf } from './models/discover.ts';
import { changedTasks } from './models/tasks.ts';
import { SECTIONS } from './schema/sections.ts';
import { BUILT_IN_SELECTORS } from './selectors.ts';
import { changedKeys, formerDefault, formerKeys, LATEST_VERSION } from './versions.ts';

const NO_OPTIONS: TSchema = Type.Object({});

/**
 * Returns the defaults that would change if a policy of version 1 stated the latest version, as paths of the keys that it leaves out, and
 * the stated keys that the latest version does not have.
 * `changedDefaults` returns null for a policy of the latest version.
 * @param outline the bare data of the policy's sections
 */
export function changedDefaults(
  outline: Readonly<Record<string, unknown>>,
  strategies: ReadonlyMap<string, StrategyPlugin>,
): string[] | null {
  if (outline.version === LATEST_VERSION) return null;
  const singles = Object.entries<TSchema>(SECTIONS)
    .filter(([name, schema]) => formerDefault(schema) !== undefined && !(name in outline))
    .map(([name]) => name);
  const references = namesIn(outline.reference_price).length === 0 ? ['reference_price'] : [];
  const keys = Object.entries<TSchema>(SECTIONS).flatMap(([name, schema]) => {
    const own = namesIn(outline[name]);
    return changedKeys(schema).flatMap((key) => (own.includes(key) ? [] : [`${name}.${key}`]));
  });
  const tasks = changedTasks(namesIn(outline.tasks)).map((name) => `tasks.${name}`);
  const stated = objectOf(outline.selectors);
  const selectors = [...new Set([...BUILT_IN_SELECTORS, ...Object.keys(stated)])].flatMap((name) => {
    const selector: Readonly<Record<string, unknown>> = isObject(stated[name]) ? stated[name] : { strategy: name };
    const plugin = strategies.get(String(selector.strategy));
    const own = namesIn(selector.options);
    // A selector with a former option runs another strategy.
    const isFormer = plugin?.formerly?.options.some((option) => own.includes(option));
    const { options = NO_OPTIONS } = (isFormer ? strategies.get(plugin?.formerly?.by ?? '') : plugin) ?? {};
    const changed = changedKeys(options).filter((key) => !own.includes(key));
    const renamed = formerKeys(options).filter((key) => own.includes(key));
    const paths = [...changed, ...renamed].map((key) => `selectors.${name}.options.${key}`);
    // In version 1, each request is decided by ranking all models.
    const hasTiers = selector.tiers === undefined && selector.vector_space === undefined;
    return hasTiers ? [...paths, `selectors.${name}.tiers`] : paths;
  });
  const providers = Object.entries(objectOf(outline.providers)).flatMap(([name, provider]) =>
    discoveredIn(provider) ? [`providers.${name}.discover`] : [],
  );
  return [...singles, ...references, ...keys, ...tasks, ...selectors, ...providers];
}

/** Whether the latest version finds the models of a provider, but version 1 does not. */
function discoveredIn(provider: unknown): boolean {
  const { preset, discover } = objectOf(provider);
  return discover === undefined && discoverOf({ preset: textOf(preset) }, LATEST_VERSION) !== 'off';
}

const namesIn = (map: unknown): string[] => (isObject(map) ? Object.keys(map) : []);
