"""Public names of the library: `from harness import Agent`.

Type checkers follow the imports below. At run time each name is loaded from its module on first access.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from harness.agent.agent import Agent as Agent
    from harness.agent.agent import AgentContext as AgentContext
    from harness.agent.agent import agent_loop as agent_loop
    from harness.agent.agent import agent_loop_continue as agent_loop_continue
    from harness.agent.arguments import Prompt as Prompt
    from harness.agent.guardrails import AddContext as AddContext
    from harness.agent.guardrails import InputGuardrail as InputGuardrail
    from harness.agent.guardrails import MaxLength as MaxLength
    from harness.agent.guardrails import Pass as Pass
    from harness.agent.guardrails import Reject as Reject
    from harness.agent.guardrails import SecretGuardrail as SecretGuardrail
    from harness.agent.guardrails import Warn as Warn
    from harness.agent.job_wake import JobWake as JobWake
    from harness.agent.limits import Limits as Limits
    from harness.agent.options import AgentOptions as AgentOptions
    from harness.agent.options import Subagents as Subagents
    from harness.agent.policies import Budget as Budget
    from harness.agent.policies import DenyList as DenyList
    from harness.agent.policies import LoopDetection as LoopDetection
    from harness.agent.policies import MaxTurns as MaxTurns
    from harness.agent.policies import recommended as recommended
    from harness.agent.presets import preset as preset
    from harness.agent.presets import preset_model as preset_model
    from harness.agent.presets import preset_names as preset_names
    from harness.agent.retry import RetryPolicy as RetryPolicy
    from harness.agent.retry import RetryStrategy as RetryStrategy
    from harness.agent.routing import ByTurn as ByTurn
    from harness.agent.routing import CheapThenPowerful as CheapThenPowerful
    from harness.agent.routing import Routing as Routing
    from harness.agent.routing import Single as Single
    from harness.agent.run_state import AgentResult as AgentResult
    from harness.agent.stream import RunStream as RunStream
    from harness.agent.subagents.agent_tool import SubagentTool as SubagentTool
    from harness.agent.tool_filter import RelevantTools as RelevantTools
    from harness.agent.tool_filter import ToolCategory as ToolCategory
    from harness.approval.interactions import ApprovalCallback as ApprovalCallback
    from harness.approval.modes import EXECUTE as EXECUTE
    from harness.approval.modes import PLAN as PLAN
    from harness.approval.modes import ApprovalMode as ApprovalMode
    from harness.approval.modes import Planning as Planning
    from harness.approval.pending import PendingRequest as PendingRequest
    from harness.approval.pending import PendingRequests as PendingRequests
    from harness.approval.store import Grants as Grants
    from harness.approval.store import RuleStore as RuleStore
    from harness.context.policy import ContextPolicy as ContextPolicy
    from harness.deltas import BlockDelta as BlockDelta
    from harness.deltas import BlockEnd as BlockEnd
    from harness.deltas import BlockStart as BlockStart
    from harness.deltas import Delta as Delta
    from harness.deltas import Done as Done
    from harness.deltas import UsageReport as UsageReport
    from harness.errors import Aborted as Aborted
    from harness.errors import AgentError as AgentError
    from harness.errors import AlreadyRunning as AlreadyRunning
    from harness.errors import AuthenticationFailed as AuthenticationFailed
    from harness.errors import CinchError as CinchError
    from harness.errors import ConfigError as ConfigError
    from harness.errors import ContextWindowOverflow as ContextWindowOverflow
    from harness.errors import InvalidArguments as InvalidArguments
    from harness.errors import InvalidContinue as InvalidContinue
    from harness.errors import InvalidReply as InvalidReply
    from harness.errors import LimitExceeded as LimitExceeded
    from harness.errors import ModelNotFound as ModelNotFound
    from harness.errors import ModelOverloaded as ModelOverloaded
    from harness.errors import ModelThrottled as ModelThrottled
    from harness.errors import NetworkError as NetworkError
    from harness.errors import NoMessages as NoMessages
    from harness.errors import NoPendingRequest as NoPendingRequest
    from harness.errors import ProviderError as ProviderError
    from harness.errors import QuotaExhausted as QuotaExhausted
    from harness.errors import Rejected as Rejected
    from harness.errors import RequestRejected as RequestRejected
    from harness.errors import SessionError as SessionError
    from harness.errors import SessionMissing as SessionMissing
    from harness.errors import StreamError as StreamError
    from harness.errors import StructuredOutputFailed as StructuredOutputFailed
    from harness.errors import SummaryFailed as SummaryFailed
    from harness.errors import WorkspaceError as WorkspaceError
    from harness.events import AgentEnd as AgentEnd
    from harness.events import AgentStart as AgentStart
    from harness.events import BranchEvent as BranchEvent
    from harness.events import CompactionEnd as CompactionEnd
    from harness.events import CompactionStart as CompactionStart
    from harness.events import CompactionUndone as CompactionUndone
    from harness.events import ContextEdited as ContextEdited
    from harness.events import ContextTrimmed as ContextTrimmed
    from harness.events import ContextWarning as ContextWarning
    from harness.events import Continuation as Continuation
    from harness.events import Event as Event
    from harness.events import Evicted as Evicted
    from harness.events import HistoryReplaced as HistoryReplaced
    from harness.events import HookRan as HookRan
    from harness.events import InputRejected as InputRejected
    from harness.events import JobEnded as JobEnded
    from harness.events import JobInputRequested as JobInputRequested
    from harness.events import JobStarted as JobStarted
    from harness.events import LimitReached as LimitReached
    from harness.events import MessageDiscarded as MessageDiscarded
    from harness.events import MessageEnd as MessageEnd
    from harness.events import MessageStart as MessageStart
    from harness.events import MessageUpdate as MessageUpdate
    from harness.events import ModeChanged as ModeChanged
    from harness.events import ModelChanged as ModelChanged
    from harness.events import ModelFallback as ModelFallback
    from harness.events import ModelRouted as ModelRouted
    from harness.events import Notice as Notice
    from harness.events import ParallelEnd as ParallelEnd
    from harness.events import ParallelStart as ParallelStart
    from harness.events import PlanSubmitted as PlanSubmitted
    from harness.events import QuestionAnswered as QuestionAnswered
    from harness.events import QuestionAsked as QuestionAsked
    from harness.events import RequestStart as RequestStart
    from harness.events import RetryScheduled as RetryScheduled
    from harness.events import RunConfig as RunConfig
    from harness.events import SubagentEvent as SubagentEvent
    from harness.events import ToolApprovalRequested as ToolApprovalRequested
    from harness.events import ToolApprovalResolved as ToolApprovalResolved
    from harness.events import ToolCacheHit as ToolCacheHit
    from harness.events import ToolCallsReceived as ToolCallsReceived
    from harness.events import ToolExecutionEnd as ToolExecutionEnd
    from harness.events import ToolExecutionStart as ToolExecutionStart
    from harness.events import ToolExecutionUpdate as ToolExecutionUpdate
    from harness.events import TurnEnd as TurnEnd
    from harness.events import TurnStart as TurnStart
    from harness.events import UsageAdded as UsageAdded
    from harness.events import UsageUpdate as UsageUpdate
    from harness.execution.context import Execution as Execution
    from harness.function_tools.function_tool import SchemaTool as SchemaTool
    from harness.function_tools.function_tool import tool as tool
    from harness.jobs import Job as Job
    from harness.jobs import Jobs as Jobs
    from harness.messages import AssistantMessage as AssistantMessage
    from harness.messages import Citation as Citation
    from harness.messages import Cost as Cost
    from harness.messages import CustomMessage as CustomMessage
    from harness.messages import Image as Image
    from harness.messages import JsonObject as JsonObject
    from harness.messages import JsonValue as JsonValue
    from harness.messages import Message as Message
    from harness.messages import ModelSpec as ModelSpec
    from harness.messages import StopReason as StopReason
    from harness.messages import Text as Text
    from harness.messages import Thinking as Thinking
    from harness.messages import ToolCall as ToolCall
    from harness.messages import ToolResult as ToolResult
    from harness.messages import Usage as Usage
    from harness.messages import UserMessage as UserMessage
    from harness.messages import user as user
    from harness.parallel.run import ParallelResult as ParallelResult
    from harness.parallel.run import run_parallel as run_parallel
    from harness.parallel.selection import Elaborate as Elaborate
    from harness.parallel.selection import LlmJudge as LlmJudge
    from harness.parallel.selection import Outcome as Outcome
    from harness.parallel.selection import PickFirst as PickFirst
    from harness.parallel.selection import Selection as Selection
    from harness.parallel.selection import Strategy as Strategy
    from harness.parallel.selection import TokenEfficient as TokenEfficient
    from harness.parallel.selection import Transparent as Transparent
    from harness.parallel.variant import ParallelVariant as ParallelVariant
    from harness.permissions import Decision as Decision
    from harness.permissions import Rule as Rule
    from harness.permissions import RuleSource as RuleSource
    from harness.ports.hooks import AllowCall as AllowCall
    from harness.ports.hooks import AskUser as AskUser
    from harness.ports.hooks import Block as Block
    from harness.ports.hooks import Hooks as Hooks
    from harness.ports.hooks import Inject as Inject
    from harness.ports.hooks import Modify as Modify
    from harness.ports.hooks import Stop as Stop
    from harness.ports.interaction import BatchQuestions as BatchQuestions
    from harness.ports.interaction import NonInteractive as NonInteractive
    from harness.ports.interaction import UserInteraction as UserInteraction
    from harness.ports.interaction import ask_all as ask_all
    from harness.ports.permission_policy import CallFacts as CallFacts
    from harness.ports.permission_policy import PermissionPolicy as PermissionPolicy
    from harness.ports.provider import NO_CACHE as NO_CACHE
    from harness.ports.provider import CacheStrategy as CacheStrategy
    from harness.ports.provider import Model as Model
    from harness.ports.provider import ModelInfo as ModelInfo
    from harness.ports.provider import ModelInfoSource as ModelInfoSource
    from harness.ports.provider import Price as Price
    from harness.ports.provider import Provider as Provider
    from harness.ports.provider import Request as Request
    from harness.ports.provider import StaticModelInfo as StaticModelInfo
    from harness.ports.session_store import InMemorySessionStore as InMemorySessionStore
    from harness.ports.session_store import SessionStore as SessionStore
    from harness.ports.tool import Role as Role
    from harness.ports.tool import Tool as Tool
    from harness.ports.tool import ToolContext as ToolContext
    from harness.ports.tool import ToolOutput as ToolOutput
    from harness.publishing import Listener as Listener
    from harness.publishing import innermost as innermost
    from harness.risk import PathAccess as PathAccess
    from harness.risk import Risk as Risk
    from harness.risk import SimpleCommand as SimpleCommand
    from harness.session.recorder import SessionRecorder as SessionRecorder
    from harness.session.resume import LoadedSession as LoadedSession
    from harness.session.resume import load_session as load_session
    from harness.session.stores import FileSessionStore as FileSessionStore
    from harness.session.stores import load_stored_session as load_stored_session
    from harness.tracing.recorder import TraceRecorder as TraceRecorder
    from harness.tracing.records import RunTrace as RunTrace
    from harness.tracing.records import SessionTrace as SessionTrace
    from harness.tracing.store import TraceFiles as TraceFiles
    from harness.user_requests import AllowAlways as AllowAlways
    from harness.user_requests import AllowForSession as AllowForSession
    from harness.user_requests import AllowHunks as AllowHunks
    from harness.user_requests import AllowOnce as AllowOnce
    from harness.user_requests import AllowWithArguments as AllowWithArguments
    from harness.user_requests import Answer as Answer
    from harness.user_requests import Approval as Approval
    from harness.user_requests import ApprovalDecision as ApprovalDecision
    from harness.user_requests import ApprovalRequest as ApprovalRequest
    from harness.user_requests import BatchApproval as BatchApproval
    from harness.user_requests import CallApproval as CallApproval
    from harness.user_requests import Choice as Choice
    from harness.user_requests import Denied as Denied
    from harness.user_requests import Plan as Plan
    from harness.user_requests import PlanDecision as PlanDecision
    from harness.user_requests import ProposeRevision as ProposeRevision
    from harness.user_requests import Question as Question
    from harness.user_requests import RejectedHunk as RejectedHunk
    from harness.views import DiffView as DiffView
    from harness.views import TextView as TextView
    from harness.views import View as View
    from harness.workspace.workspace import Workspace as Workspace

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

_IMPORT = re.compile(r"^    from (\S+) import (\w+) as ", re.MULTILINE)

# The loader also reads from a zip archive.
_SOURCE = cast("InspectLoader", __loader__).get_source(__name__) or ""

WHERE = {name: module for module, name in _IMPORT.findall(_SOURCE)}
"""Modules of the public names, read from the imports above; the source must be installed, as it is by default."""


def load(name: str) -> object:
    """Return the object with a public name."""
    return getattr(import_module(WHERE[name]), name)
