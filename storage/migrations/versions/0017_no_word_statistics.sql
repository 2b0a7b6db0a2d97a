-- PostgreSQL keeps the commonest and some other values of each column (pg_statistic), for its
-- planner. What was erased would stay among them until the next ANALYZE: of columns that hold what
-- somebody said, or what was made of it, there are none from now on. Where a plan hangs on how many
-- different values there are, that alone is told, once and for all (PostgreSQL 18 and later).
do $$
declare
  told text[] := array[
    'conversation.thread', 'conversation.label', 'conversation.messages', 'conversation.resources',
    'conversation.artifacts', 'conversation.extra', 'conversation.failed_reason',
    'draft_symbol.definition', 'edge.options',
    'element.key', 'element.client_key', 'element.origin', 'element.stub',
    'element_ver.name', 'element_ver.doc', 'element_ver.doing', 'element_ver.recording',
    'erasure_plan.traces', 'erasure_plan.open_points',
    'evidence.payload', 'evidence.media_type', 'idem.key', 'idem.outcome',
    'commit_record.changes', 'commit_record.control',
    'job.payload', 'job.result', 'job.error', 'job.progress', 'job.cursor', 'job.idem_key',
    'job_event.detail', 'maintenance_stage.told',
    'memory_upkeep.last_settlement', 'memory_upkeep.last_self_test', 'memory_upkeep.last_shadow',
    'memory_upkeep.last_schema_audit', 'memory_upkeep.graph',
    'product_request.request', 'product_request.preview', 'product_request.result',
    'proposition.object_lit', 'proposition.object_key',
    'recall_base.detail', 'runtime_outcome.event_key', 'runtime_response.event_key',
    'search_document.text', 'search_document.embed_text', 'search_term.term',
    'staged_source.messages', 'staged_source.idem_key', 'staged_source.source_order'
  ];
  place text;
  held text;
  member text;
begin
  foreach place in array told loop
    held := split_part(place, '.', 1);
    member := split_part(place, '.', 2);
    execute format('alter table %I alter column %I set statistics 0', held, member);
    -- what was gathered before; PostgreSQL can forget it since 18
    if to_regprocedure('pg_clear_attribute_stats(text,text,text,boolean)') is not null then
      execute 'select pg_clear_attribute_stats($1, $2, $3, false)'
        using current_schema()::text, held, member;
    end if;
  end loop;
  if to_regprocedure('pg_restore_attribute_stats("any")') is not null then
    foreach place in array array[
      'element_ver.name', 'element.key', 'proposition.object_key', 'search_term.term'
    ] loop
      execute 'select pg_restore_attribute_stats(''schemaname'', $1, ''relname'', $2, ''attname'','
        ' $3, ''inherited'', false, ''null_frac'', 0.3::real, ''avg_width'', 20, ''n_distinct'','
        ' -0.3::real)'
        using current_schema()::text, split_part(place, '.', 1), split_part(place, '.', 2);
    end loop;
  end if;
end
$$;
