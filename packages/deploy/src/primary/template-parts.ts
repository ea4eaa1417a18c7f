/** The words of CloudFormation that its templates here are written with. */
import type { NodeName } from "@radical/protocol";

export interface Template {
  readonly AWSTemplateFormatVersion: "2010-09-09";
  readonly Description: string;
  /** Given to the stack: CloudFormation gives them to what it makes. They stand here so that a change of them is one of the template. */
  readonly Metadata: { readonly Tags: Readonly<Record<string, string>> };
  readonly Resources: Resources;
  readonly Outputs: Readonly<Record<"Artefact" | "Last" | "ReadLeases" | "Tables", Output>>;
}

interface Output {
  readonly Description: string;
  readonly Value: string;
}

/** By their logical ids. */
export type Resources = Readonly<Record<string, Resource>>;

export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly CreationPolicy?: unknown;
  readonly UpdatePolicy?: unknown;
}

/** Ids of the machines' tunnels; null: none is stored yet. */
export type TunnelIds = Readonly<Record<NodeName, string | null>>;

export function ref(logicalId: string): unknown {
  return { Ref: logicalId };
}

export function attribute(logicalId: string, name: string): unknown {
  return { "Fn::GetAtt": [logicalId, name] };
}

export function sub(text: string): unknown {
  return { "Fn::Sub": text };
}

interface Tag {
  readonly Key: string;
  readonly Value: string;
}

export function tags(name: string): readonly Tag[] {
  return tagList({ Name: name });
}

export function tagList(byName: Readonly<Record<string, string>>): readonly Tag[] {
  return Object.entries(byName).map(([Key, Value]) => ({ Key, Value }));
}
