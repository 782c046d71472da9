import type { TObject, TSchema } from '@sinclair/typebox';
import type { StrategyPlugin } from '../contract/strategy.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';

/**
 * Versions of the policy language. The versions of the policy language differ in defaults, so that a policy keeps the defaults it was
 * written for. A key that got another name exists under its old name only in version 1.
 */
export const VERSIONS = [1, 2] as const;
export type LanguageVersion = (typeof VERSIONS)[number];
export const LATEST_VERSION = 2;

/** Reports a part of the policy that version 1 does not have. */
export function needsLatest(path: string, place: SourceSpan, report: Report): void {
  report.add('needs-version', place, `\`${path}\` needs \`version: ${LATEST_VERSION}\``, {
    hint: `in version 1, the strategy ranks all models for each request. Remove \`${path}\`, or state \`version: ${LATEST_VERSION}\``,
  });
}

/** Returns the default of a value in version 1, if it was different. A schema states the default of version 1 as `formerDefault`. */
export const formerDefault = (schema: TSchema): unknown => schema.formerDefault;

/** Returns the keys of a map that only version 1 accepts. A schema marks such a key with `isFormer`. */
export const formerKeys = ({ properties = {} }: TSchema): string[] =>
  Object.keys(properties).filter((key) => properties[key].isFormer === true);

/** Returns the keys of a map whose defaults differ between the versions. */
export const changedKeys = ({ properties = {} }: TSchema): string[] =>
  Object.keys(properties).filter((key) => formerDefault(properties[key]) !== undefined);

/** Returns a schema with the keys and the defaults of a version, for the value itself and for its keys. */
export function inVersion<Schema extends TSchema>(schema: Schema, version: LanguageVersion): Schema {
  if (version === LATEST_VERSION) return withoutKeys(schema, formerKeys(schema));
  const own = formerDefault(schema) === undefined ? schema : { ...schema, default: formerDefault(schema) };
  const keys = changedKeys(schema);
  if (keys.length === 0) return own;
  const changed = keys.map((key) => [key, inVersion(schema.properties[key], version)]);
  return { ...own, properties: { ...schema.properties, ...Object.fromEntries(changed) } };
}

function withoutKeys<Schema extends TSchema>(schema: Schema, left: readonly string[]): Schema {
  if (left.length === 0) return schema;
  const kept = Object.entries(schema.properties).filter(([key]) => !left.includes(key));
  return { ...schema, properties: Object.fromEntries(kept) };
}

/** Returns the strategies with the option defaults of a version. */
export function strategiesIn(
  strategies: ReadonlyMap<string, StrategyPlugin>,
  version: LanguageVersion,
): ReadonlyMap<string, StrategyPlugin> {
  const adapted = (plugin: StrategyPlugin): StrategyPlugin => {
    const options: TObject = inVersion(plugin.options, version);
    return options === plugin.options ? plugin : { ...plugin, options };
  };
  return new Map([...strategies].map(([name, plugin]) => [name, adapted(plugin)]));
}
