// One route of the cabinet's API: rights by its row in roles.ts, schema for the API document, handler. The handler gets ids of the path in
// lower case.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { adminAnswers, type SuccessAnswer, uuidField } from '../http/schemas.ts';
import type { RouteApp } from '../http/server.ts';
import type { ErrorName } from '../kernel/error-codes.ts';
import { type CabinetCall, type CallRule, calls } from './roles.ts';

const apiPath = '/cabinet/api';
const pathIds = { id: uuidField('Its id.'), oid: uuidField('OID of the invoice.') };
const idNames = ['id', 'oid'] as const;
type IdsIn<Path extends string> = { [Name in keyof typeof pathIds as Path extends `${string}/:${Name}${string}` ? Name : never]: string };

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A success: only its description if it has no fields. `response`: all answers, of a route that differs from the others. */
type AnswersOfRoute = { answer: SuccessAnswer | string; errors?: readonly ErrorName[] } | { response: object };

interface RouteParts<Path extends string, Body extends TSchema, Query extends TSchema, Params extends TSchema> {
  summary: string;
  description?: string;
  body?: Body;
  querystring?: Query;
  headers?: TSchema;
  /** `:id` and `:oid` need none. */
  params?: Params;
  preValidation?: () => Promise<void>;
  isLongLived?: true;
  /** Returns the fields of the answer, if it has any. */
  handle(
    request: FastifyRequest<{ Body: Static<Body>; Querystring: Static<Query>; Params: Static<Params> & IdsIn<Path> }>,
    reply: FastifyReply,
  ): unknown;
}

export function addRoute<
  const Path extends string,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Params extends TSchema = TSchema,
>(
  app: RouteApp,
  place: `${Method} ${Path}`,
  operationId: CabinetCall,
  route: RouteParts<Path, Body, Query, Params> & AnswersOfRoute,
): void {
  const { handle, preValidation, isLongLived, ...parts } = route;
  const { who, isConfirmed = false, isBeforeTotp = false }: CallRule = calls[operationId];
  const [method, path] = place.split(' ') as [Method, string];
  const ids = idNames.filter((name) => path.includes(`/:${name}`) && route.params === undefined);
  const params = ids.length === 0 ? {} : { params: Type.Object(Object.fromEntries(ids.map((name) => [name, pathIds[name]]))) };
  app.route({
    method,
    url: `${apiPath}${path}`,
    config: { access: { kind: 'cabinet', call: operationId, who, isConfirmed, isBeforeTotp }, ...(isLongLived && { isLongLived }) },
    schema: { tags: ['Cabinet'], operationId, ...params, ...withResponse(parts) },
    ...(preValidation && { preValidation }),
    handler(request, reply) {
      const given = request.params as Record<string, string>;
      for (const name of ids) given[name] = given[name]?.toLowerCase() ?? '';
      return handle(request as Parameters<typeof handle>[0], reply);
    },
  });
}

function withResponse<Parts extends object>(parts: Parts & AnswersOfRoute) {
  if ('response' in parts) return parts;
  const { answer, errors = [], ...others } = parts;
  return { ...others, response: adminAnswers(typeof answer === 'string' ? { description: answer, example: {} } : answer, ...errors) };
}
