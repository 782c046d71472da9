import { type ModelRequest, type OriginalPath, pathText, type ToolDefinition } from 'signalbox/plugin';
import { isObject, type Json } from './json.ts';

/** The object of a tool that bears a `cache_control`, with its path; some clients put the hint inside `function`. */
export function hintsOfTool(request: ModelRequest, { at, valueAt }: ToolDefinition): { owner: Json; path: string }[] {
  return [at, valueAt].flatMap((place: OriginalPath) => {
    const owner = request.originalAt(place);
    return isObject(owner) && owner.cache_control != null ? [{ owner, path: pathText(place) }] : [];
  });
}
