import type { ComponentChildren } from 'preact';
import type { Coder, Draft, DraftField, Option } from './draft.ts';

export interface InputProps<Value> {
  readonly field: FormField;
  readonly value: Value;
  set(value: Value): void;
  /** The message for the field, or for a part of it such as `[0].time_zone`; null for none. */
  errorAt(part?: string): string | null;
  readonly draft: Draft;
}

/** How a field is typed and sent. */
export interface FieldKind<Value> extends Coder<Value> {
  /** A component; a text unless stated. */
  Input?(props: InputProps<Value>): ComponentChildren;
}

/** A member of a body that a form can set. */
export interface FormField extends DraftField {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly placeholder?: string;
  readonly type?: 'date' | 'email';
  /** Lines of a text. */
  readonly rows?: number;
  /** A choice of one. */
  readonly options?: readonly Option[] | ((draft: Draft) => readonly Option[]);
  readonly kind?: FieldKind<unknown>;
  /** Whether the page's address or another field sets it, and the viewer does not. */
  readonly isHidden?: boolean;
  /** The other members that change with it. */
  readonly sets?: (value: unknown) => Draft;
}

/** A field; several fields in a row; a heading. */
export type FormPart = FormField | readonly FormField[] | string;
