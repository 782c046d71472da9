import { type TProperties, Type } from '@sinclair/typebox';
import { arrayOf, orNull } from '../../api/parts.ts';

/** A list of objects. */
export const rows = <Fields extends TProperties>(description: string, fields: Fields, ...examples: unknown[][]) =>
  arrayOf(Type.Object(fields), description, ...examples);

/** An object, or null. */
export const shapeOrNull = <Fields extends TProperties>(description: string, fields: Fields, ...examples: unknown[]) =>
  orNull(Type.Object(fields), description, ...examples);

/** A text, or null. */
export const textOrNull = (description: string, ...examples: (string | null)[]) =>
  orNull(Type.String(), description, ...examples);

/** A number, or null. */
export const figureOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Number(), description, ...examples);

/** A whole number, or null. */
export const wholeOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Integer(), description, ...examples);
