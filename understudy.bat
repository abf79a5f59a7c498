@echo off
rem The command understudy, in the project's own environment; the first start installs what it needs.
py "%~dp0understudy" %*
