import type { ComponentChildren } from 'preact';
import type { Coder, Draft, DraftField, Folded, Option } from './draft.ts';

export interface InputProps<Value> {
  readonly field: FormField;
  readonly value: Value;
  set(value: Value): void;
  /** The message for the field, or for a part of it such as `[0].time_zone`; null if there is none. */
  errorAt(part?: string): string | null;
  readonly draft: Draft;
}

/** The input component and the coder of a field. */
export interface FieldKind<Value> extends Coder<Value> {
  /** The input component; by default a text field. */
  Input?(props: InputProps<Value>): ComponentChildren;
}

/** A member of a body that a form can set. */
export interface FormField extends DraftField {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly placeholder?: string;
  readonly type?: 'date' | 'email';
  /** The number of text lines. */
  readonly rows?: number;
  /** The options of a choice. */
  readonly options?: readonly Option[] | ((draft: Draft) => readonly Option[]);
  readonly kind?: FieldKind<unknown>;
  /** Whether the field is hidden, because the address or another field sets it. */
  readonly isHidden?: boolean;
  /** Returns other members that change together with this member. */
  readonly sets?: (value: unknown) => Draft;
}

/** Fields that are folded until the viewer opens them or the server refuses one of them. */
export interface FoldedFields extends Folded<FormPart> {
  /** Whether the fields are open at first, because the page's address sets one of them. */
  readonly isOpen: boolean;
}

/** A field, several fields in one row, a heading, or folded fields. */
export type FormPart = FormField | readonly FormField[] | string | FoldedFields;
