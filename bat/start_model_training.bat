@echo off
rem Plays and learns: the same as "python run_with_training.py". Arguments are passed on.
cd /d "%~dp0.."
py run_with_training.py %*
