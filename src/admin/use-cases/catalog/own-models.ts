import { type Static, Type } from '@sinclair/typebox';
import { parse } from 'yaml';
import { lazy } from '../../../core/lazy.ts';
import { SchemaCheck } from '../../../core/schema/check.ts';
import { importedFile } from '../../../host/program.ts';
import file from './own-models.yaml' with { type: 'file' };

const Figures = Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()]));
const OwnModel = Type.Object({
  upstream: Type.String(),
  languages: Type.Array(Type.String()),
  reasoning_tokens: Type.Record(Type.String(), Type.Number()),
  latency: Figures,
  quality: Figures,
});

/** Figures of a public model that people run on their own machines, in the form of a policy. */
export type OwnFigures = Omit<Static<typeof OwnModel>, 'upstream'>;

const check = new SchemaCheck(Type.Object({ models: Type.Record(Type.String(), OwnModel) }));

/** Loads the figures by Ollama's name of the model. Only `catalog update` needs them. */
export const loadOwnFigures = lazy(async (): Promise<ReadonlyMap<string, OwnFigures>> => {
  const content: unknown = parse(await Bun.file(importedFile(file)).text());
  if (!check.accepts(content)) throw new TypeError(`own-models.yaml: ${check.errorOf(content)?.path} is wrong`);
  return new Map(Object.values(content.models).map(({ upstream, ...figures }) => [upstream, figures]));
});
