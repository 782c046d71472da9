import { type Static, type TArray, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { PluginMaps } from '../../contract/kinds.ts';
import type { ConvertedAmount } from '../check/amounts.ts';
import { checkValue, type Subject } from '../check/check.ts';
import {
  type CheckContext,
  checkList,
  emptyMap,
  type NamedItem,
  sectionSubject,
  statedSubject,
} from '../check/section-checks.ts';
import { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import type { Environment } from './environment.ts';
import type { ExpressionChecker } from './expression-checker.ts';
import type { Installation } from './installation.ts';

/** A section of the policy language, with the facts that the rest of Signalbox needs. */
export interface Section<Name extends string = string, Text extends TSchema = TSchema, Draft = unknown> {
  readonly name: Name;
  readonly text: Text;
  /**
   * `ORDINARY`, or why an edit of the section can give power, send data elsewhere or remove evidence. Or one of these for each key of the
   * section; for each key of an item if the section is a map of items.
   */
  readonly guard: string | KeyGuards;
  /**
   * The group of the section in the reference, and a link to the page that explains it. `page` is absent for a section with only one to
   * three values.
   */
  readonly page?: readonly [group: 'Serve' | 'Choose' | 'Spend' | 'Run', link: string];
  /**
   * Checks everything that needs neither expressions nor the environment. A draft is plain data, because a worker sends it by structured
   * clone.
   */
  draft(context: DraftContext): Draft;
}

/** A section with a result of its own. The snapshot has the result under the section's name in camel case. */
export interface CompiledSection<
  Name extends string = string,
  Text extends TSchema = TSchema,
  Draft = unknown,
  Made = unknown,
> extends Section<Name, Text, Draft> {
  /**
   * Checks the parts of the section that need expressions or the environment. `compile` yields often, so that a server can answer requests
   * in between.
   */
  compile(draft: Draft, context: SectionContext): Generator<undefined, Made>;
}

/** A section without a result, because only other sections read it. */
interface InputSection<Name extends string = string, Text extends TSchema = TSchema, Draft = unknown>
  extends Section<Name, Text, Draft> {
  /** Checks the parts of the section that need expressions or the environment. */
  review?(draft: Draft, context: SectionContext): void;
}

/** The guard of a section or key that every editor of policies may change. */
export const ORDINARY = 'ordinary';
/** The guard of keys that let callers send fields as they are. */
export const UNCHECKED = 'it lets fields pass that were neither checked nor priced';
/** The guard of each key. With the type of a text, the type checker asks for the guard of every key. */
export type KeyGuards<Text = Readonly<Record<string, unknown>>> = Readonly<Record<keyof Text & string, string>>;

/** A section that another section reads. */
type Drafted<Draft> = Pick<Section<string, TSchema, Draft>, 'name' | 'draft'>;
type Compiled<Made> = Pick<CompiledSection<string, TSchema, never, Made>, 'name' | 'compile'>;

/** Returns the draft of a section. */
export type DraftReader = <Draft>(section: Drafted<Draft>) => Draft;

/** Returns the result of a section. */
export type ResultReader = <Made>(section: Compiled<Made>) => Made;

/** Makes a reader of drafts that are stored under the names of their sections. */
export const draftsIn =
  (drafts: Readonly<Record<string, unknown>>): DraftReader =>
  // Only `draft` of a section makes the value under its name.
  <Draft>({ name }: Drafted<Draft>) =>
    drafts[name] as Draft;

/** Makes a reader of results that are stored under the names of their sections. */
export const resultsIn =
  (results: Readonly<Record<string, unknown>>): ResultReader =>
  <Made>({ name }: Compiled<Made>) => {
    if (!(name in results)) throw new Error(`the section ${name} must stand before the sections that read its result`);
    // Only `compile` of a section makes the value under its name.
    return results[name] as Made;
  };

/** The context in which a section is drafted. */
export interface DraftContext extends CheckContext {
  /** Whether all files and sections could be read, so that nothing that seems to be missing is in another place. */
  readonly isSound: boolean;
  /** Collects the amounts of USD that were converted. */
  readonly converted: ConvertedAmount[];
  /**
   * Returns the draft of another section, which is drafted first. A section imports the sections that it reads, so that no two sections can
   * read each other.
   */
  readonly of: DraftReader;
}

/** The context in which a section is compiled. */
export interface SectionContext {
  readonly check: ExpressionChecker;
  readonly env: Environment;
  /** The installed plugins, and the plugins of the policy. */
  readonly plugins: PluginMaps;
  readonly installation: Installation;
  readonly report: Report;
  /** Returns the draft of any section. */
  readonly of: DraftReader;
  /** Returns the result of a section that stands before this section in the language. */
  readonly made: ResultReader;
}

/** A section of any kind. */
export type AnySection = Section & Partial<Pick<CompiledSection, 'compile'> & Pick<InputSection, 'review'>>;

/** Defines a section whose result is a part of the snapshot. */
export const defineSection = <const Name extends string, Text extends TSchema, Draft, Made>(
  section: CompiledSection<Name, Text, Draft, Made>,
) => section;

/** Defines a section that has no part of the snapshot, because only other sections read it. */
export const defineInput = <const Name extends string, Text extends TSchema, Draft>(
  section: InputSection<Name, Text, Draft>,
) => section;

/** Compiles a section whose draft is its result. */
export function* asDrafted<Draft>(draft: Draft): Generator<undefined, Draft> {
  yield;
  return draft;
}

interface ValueRules<Name extends string, Text extends TSchema> extends Omit<Section<Name, Text>, 'draft'> {}

/** Defines a section that is a single value, which only other sections read. A value that is left out or wrong has its default. */
export const defineValue = <const Name extends string, Text extends TSchema>(
  section: ValueRules<Name, Text>,
): Section<Name, Text, Static<Text>> => ({
  ...section,
  draft({ sections, report }) {
    const subject = statedSubject(section.name, sections);
    return (subject && checkValue(section.text, subject, report)) ?? section.text.default;
  },
});

/** Checks a map of settings. A wrong map, whose mistakes are reported, has its defaults. */
export function settingsOf<Text extends TObject>(
  text: Text,
  subject: Subject,
  { start, report }: CheckContext,
): Static<Text> {
  const stated = checkValue(text, subject, report);
  if (stated !== null) return stated;
  const defaults = checkValue(text, { path: '', tree: emptyMap(start), place: start }, new Report());
  if (defaults === null) throw new Error('a section of settings needs a default for each key');
  return defaults;
}

interface SettingsRules<Name extends string, Text extends TObject, Made> extends Omit<Section<Name, Text>, 'draft'> {
  /** Checks what the schema cannot check, and returns the settings. Each key that the policy leaves out has its default. */
  read(stated: Static<Text>, subject: Subject, report: Report): Made;
}

/** Defines a section that is a map of settings, all of which have a default or may be absent. */
export const defineSettings = <const Name extends string, Text extends TObject, Made>({
  read,
  ...section
}: SettingsRules<Name, Text, Made>): CompiledSection<Name, Text, Made, Made> => ({
  ...section,
  draft(context) {
    const subject = sectionSubject(section.name, context);
    return read(settingsOf(section.text, subject, context), subject, context.report);
  },
  compile: asDrafted,
});

interface ListRules<Name extends string, Item extends TObject, Draft, Made>
  extends Omit<Section<Name>, 'text' | 'draft'> {
  readonly description: string;
  readonly item: Item;
  /** Drafts all items together, because some values may be stated only once in a policy. */
  draft(items: readonly NamedItem<Static<Item>>[], context: DraftContext): readonly Draft[];
  /**
   * `compile` returns null for an item with errors, which were reported.
   * @param earlier the items before this one
   */
  compile(draft: Draft, context: SectionContext, earlier: readonly Made[]): Made | null;
}

/** Defines a section that is a list of items with a `name`. */
export const defineList = <const Name extends string, Item extends TObject, Draft, Made>({
  description,
  item,
  draft,
  compile,
  ...section
}: ListRules<Name, Item, Draft, Made>): CompiledSection<Name, TArray<Item>, readonly Draft[], Made[]> => ({
  ...section,
  text: Type.Array(item, { description }),
  draft: (context) => draft(checkList(section.name, item, context), context),
  *compile(drafts, context) {
    const made: Made[] = [];
    yield* inSteps(drafts, (one) => {
      const item = compile(one, context, made);
      if (item !== null) made.push(item);
    });
    return made;
  },
});
