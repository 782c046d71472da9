import type { PolicyCase } from '../../core/policy/case.ts';
import type { PeopleDraft } from '../people/people.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { PolicyFile } from '../yaml/parse.ts';
import type { ModelDraft } from './models.ts';
import type { WildcardDraft } from './wildcards.ts';

type Named = readonly { readonly name: string }[];

/** The parts of a policy that expressions can refer to. */
export interface NamedParts {
  readonly files: readonly PolicyFile[];
  readonly tasks: Named;
  readonly providers: Named;
  readonly models: readonly ModelDraft[];
  /** Maps every model ID to its location, also of models with errors. */
  readonly modelIds: ReadonlyMap<string, SourceSpan>;
  readonly wildcards: readonly WildcardDraft[];
  /** The beginnings of the IDs of models that may be found. */
  readonly openings: readonly string[];
  readonly selectors: Named;
  /** Maps each alias to the selector or model that it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The aliases of the built-in selectors that the policy does not list. Any other meaning of a name comes first. */
  readonly defaultAliases: ReadonlyMap<string, string>;
  readonly people: PeopleDraft;
  readonly cases: readonly PolicyCase[];
}
