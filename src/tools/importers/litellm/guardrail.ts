import type { FieldBlock } from '../../../policy/yaml/emit.ts';
import type { ConfigNode } from './tree.ts';

/** A guardrail of the configuration. */
export interface Guardrail {
  readonly params: ConfigNode;
  /** The name of its guard in the policy. */
  readonly name: string;
  /** The path of its guard in the policy. */
  readonly to: readonly string[];
}

/** A guard of the policy, apart from what all guardrails have in common. */
export interface ImportedGuard {
  /** Added to the name of the guardrail if it needs several guards; empty for the first. */
  readonly suffix: string;
  readonly guard: string;
  readonly service?: FieldBlock | null;
  readonly settings?: FieldBlock | null;
  readonly onMatch: 'block' | 'mask' | 'flag';
  readonly unmask?: readonly string[] | null;
}
