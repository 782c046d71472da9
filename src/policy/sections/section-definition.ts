import { type Static, type TArray, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { GuardPlugin } from '../../contract/guard.ts';
import type { Decimal } from '../../core/money/decimal.ts';
import { checkValue, type Subject } from '../check/check.ts';
import { type CheckContext, checkList, emptyMap, type NamedItem, sectionSubject } from '../check/section-checks.ts';
import type { ExpressionChecker } from '../expressions/expressions.ts';
import type { Environment } from '../providers/providers.ts';
import { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';

/** A section of the policy language, with the facts that the rest of Signalbox needs. */
export interface Section<Text extends TSchema = TSchema> {
  readonly text: Text;
  /** `ORDINARY`, `BY_KEY`, or why an edit of the section can give power, send data elsewhere or remove evidence. */
  readonly guard: string;
  /**
   * The group of the section in the reference, and a link to the page that explains it. `page` is absent for a section with only one to
   * three values.
   */
  readonly page?: readonly [group: 'Serve' | 'Choose' | 'Spend' | 'Run', link: string];
}

/** The guard of a section that every editor of policies may change. */
export const ORDINARY = 'ordinary';
/** The guard of a section whose keys are judged separately. */
export const BY_KEY = 'by key';

/** The parts of a policy that a section can refer to before expressions are checked. */
export interface DraftContext extends CheckContext {
  readonly usdPerCredit: Decimal;
  readonly publicUrl: string | null;
  readonly budgetNames: readonly string[];
}

/** The context in which a section is compiled. */
export interface SectionContext {
  readonly check: ExpressionChecker;
  readonly env: Environment;
  /** The installed guards by name. */
  readonly guards: ReadonlyMap<string, GuardPlugin>;
  readonly report: Report;
}

/** A section that its own definition checks and compiles completely. The snapshot has the result under the section's name in camel case. */
export interface OwnSection<Text extends TSchema, Draft, Made> extends Section<Text> {
  /**
   * Checks everything that needs neither expressions nor the environment. A draft is plain data, because a worker sends it by structured
   * clone.
   */
  draft(context: DraftContext, name: string): Draft;
  /**
   * Checks the parts of the section that need expressions or the environment. `compile` yields often, so that a server can answer requests
   * in between.
   */
  compile(draft: Draft, context: SectionContext): Generator<undefined, Made>;
}

/**
 * Defines a section. State the type of the compiled result explicitly: it cannot be inferred, because `ExpressionChecker` depends on the
 * drafts.
 */
export const defineSection = <Text extends TSchema, Draft, Made>(section: OwnSection<Text, Draft, Made>) => section;

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

interface SettingsRules<Text extends TObject, Made> extends Omit<Section, 'text'> {
  readonly text: Text;
  /** Checks what the schema cannot check, and returns the settings. Each key that the policy leaves out has its default. */
  read(stated: Static<Text>, subject: Subject, report: Report): Made;
}

/** Defines a section that is a map of settings, all of which have a default or may be absent. */
export const defineSettings = <Text extends TObject, Made>({
  read,
  ...section
}: SettingsRules<Text, Made>): OwnSection<Text, Made, Made> => ({
  ...section,
  draft(context, name) {
    const subject = sectionSubject(name, context);
    return read(settingsOf(section.text, subject, context), subject, context.report);
  },
  *compile(settings) {
    yield;
    return settings;
  },
});

interface ListRules<Item extends TObject, Draft, Made> extends Omit<Section, 'text'> {
  readonly description: string;
  readonly item: Item;
  /** Drafts all items together, because some values may be stated only once in a policy. */
  draft(items: readonly NamedItem<Static<Item>>[], report: Report): readonly Draft[];
  /**
   * `compile` returns null for an item with errors, which were reported. State the type of the result explicitly, as for `defineSection`.
   * @param earlier the items before this one
   */
  compile(draft: Draft, context: SectionContext, earlier: readonly Made[]): Made | null;
}

/** Defines a section that is a list of items with a `name`. */
export const defineList = <Item extends TObject, Draft, Made>({
  description,
  item,
  draft,
  compile,
  ...section
}: ListRules<Item, Draft, Made>): OwnSection<TArray<Item>, readonly Draft[], Made[]> => ({
  ...section,
  text: Type.Array(item, { description }),
  draft: (context, name) => draft(checkList(name, item, context), context.report),
  *compile(drafts, context) {
    const made: Made[] = [];
    yield* inSteps(drafts, (one) => {
      const item = compile(one, context, made);
      if (item !== null) made.push(item);
    });
    return made;
  },
});
